// os/durable_files.h: files and trees that a crash of the machine leaves whole or not there at all.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

namespace hearth::os {

// All OsError with the path.

// With exactly `mode`, whatever the umask. Replaces nothing: EEXIST when there is one.
void write_new_file(const std::filesystem::path& path, std::string_view content, mode_t mode);
// The same in place of an older one: readers find the old or the new, also after a crash.
void replace_file(const std::filesystem::path& path, std::string_view content, mode_t mode);

// With exactly `mode`, whatever the umask.
void make_directory(const std::filesystem::path& path, mode_t mode);

// Directories and what may be executed become 0755, other files 0644. Links are left alone.
void make_world_readable(const std::filesystem::path& tree);

// Until the names in `directory` are on the disk.
void sync_directory(const std::filesystem::path& directory);
// Until everything on the file system of `directory` is: one call, where a tree of thousands of
// small files would need as many.
void sync_file_system(const std::filesystem::path& directory);

// `tree` stands at `place` afterwards. If something stood there, that is where `tree` was; there
// is no moment without either.
void put_in_place(const std::filesystem::path& tree, const std::filesystem::path& place);

}  // namespace hearth::os
