// files/file_status.h: what stat says of a file, and files that are opened only if they are
// regular.
#pragma once

#include "files/file_failure.h"
#include "os/unique_fd.h"
#include "wire/file_messages.h"

#include <sys/stat.h>

#include <string>

namespace hearth::files {

wire::FileKind kind_of(mode_t mode);
// `directory` and `name` serve to read the target of a link. Throws FileFailure.
wire::FileEntry entry_of(std::string path, const struct stat& status, int directory,
                         const char* name);

// Throws FileFailure unless it is a regular file.
void require_regular(const struct stat& status);
// Opens a regular file for reading: nothing else is opened, nor waited for. Throws FileFailure.
os::UniqueFd open_regular(int directory, const char* name);
// Whether stat shows that the file is not what it was.
bool is_changed(const struct stat& before, const struct stat& after);

}  // namespace hearth::files
