// init/file_place.h: where a path of a request leads. Component by component, from a descriptor to
// the next, and no link is followed at any of them: whatever a script puts in the way, or changes
// meanwhile, leads nowhere else.
#pragma once

#include "files/file_failure.h"
#include "os/unique_fd.h"

#include <sys/stat.h>

#include <string>

namespace hearth::init {

using files::failure_of;
using files::FileFailure;

struct FilePlace {
  os::UniqueFd directory;  // O_PATH
  std::string name;        // in it; "." for the directory itself
};

enum class MissingDirectories { are_errors, are_made };

// `path` as wire::problem_of_file_path allows it; relative to the directory `root`. Absolute paths
// lead anywhere but into the kernel's own file systems. The last component need not exist. Throws
// FileFailure.
FilePlace find_place(const std::string& root, const std::string& path, MissingDirectories missing);

// Makes a directory unless anything is there. Throws FileFailure with `place` as what it is about.
void make_missing(int parent, const std::string& name, const std::string& place = {});

// Of what is there, a link included. FileFailure `not_found` if nothing is.
struct stat status_of(const FilePlace& place);
}  // namespace hearth::init
