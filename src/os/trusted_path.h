// os/trusted_path.h: files and directories that no other user has written or can exchange. Whatever
// Hearth acts on (configuration, tools, environments, locks, interpreters) is opened through here.
//
// Trusted is what belongs to the effective user or to root and what no one else can write. The
// primary group of an ordinary user counts as that user, root's group does not. The same holds for
// every directory on the way and for every symbolic link. A directory on the way may be writable by
// others if it has the sticky bit, like /tmp: the next one is then checked for its owner.
#pragma once

#include "base/error.h"
#include "os/unique_fd.h"

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace hearth::os {

// The message says what is wrong with `path` and what to do.
struct UntrustedPath : Error {
  UntrustedPath(std::filesystem::path where, const std::string& problem, const std::string& remedy);
  std::filesystem::path path;  // absolute, without symbolic links: the file or a directory above it
};

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
};
User effective_user();

enum class PathRole {
  on_the_way,  // a directory that is only passed
  target,
};

// Judges one file by its facts alone.
std::optional<UntrustedPath> distrust_of(const std::filesystem::path& path,
                                         const struct stat& facts, const User& user, PathRole role);

// All of these follow symbolic links and throw UntrustedPath, or OsError with the path.

// Opens a file or directory that is there, and never waits for a writer: a FIFO is an Error. Of
// /proc/self/fd, a pipe or terminal is trusted: it was given to this process.
UniqueFd open_trusted(const std::filesystem::path& path, int flags);
void require_trusted(const std::filesystem::path& path);
// The directory and every file, directory and link directly in it.
void require_trusted_files(const std::filesystem::path& directory);
// The same as os/read_file.h, of a trusted file.
std::string read_trusted_file(const std::filesystem::path& path, std::size_t max_bytes);

// The path without symbolic links of what may be any user's. What is missing at its end stays as it
// is written. A link of a process (/proc/self/cwd) is refused. The two differ in what is trusted:
// - every link on the way and at the end. Directories may be any user's, and that user can
//   exchange them: the result must be opened without following links.
std::filesystem::path resolve_trusted_links(const std::filesystem::path& path);
// - also every directory on the way, so that no other user can exchange what the result names.
std::filesystem::path resolve_trusted_way(const std::filesystem::path& path);

// A directory that a user has named to write into, by links of root and of that user only. It is
// opened as it is walked to, so that no other user can lead elsewhere in between. The last name is
// not followed if it is a link; with a slash after it, it is.
UniqueFd open_named_directory(const std::filesystem::path& path);

// Creates the directory with `mode` where there is none, and those above it with 0755.
void make_trusted_directory(const std::filesystem::path& path, mode_t mode);
// No other user can open anything in it: for locks, which a reader could hold.
void make_private_directory(const std::filesystem::path& path);

// The reason why `path` is not trusted. Nothing if it is, or if it cannot be looked at.
std::optional<UntrustedPath> distrust_of(const std::filesystem::path& path);

// The same for a program that was searched, not named: no user runs what any user can write.
std::optional<UntrustedPath> distrust_of_found_program(const std::filesystem::path& program);

// The same for a Python, which obeys a pyvenv.cfg beside it and in the directory above: root must
// trust both directories, so that no other user can create one there, and the library that such a
// file names. An ordinary user's shell runs any, so such a user need not mistrust it.
std::optional<UntrustedPath> distrust_of_python(const std::filesystem::path& program);

// The first program of that name in an absolute directory of $PATH, so never in the directory that
// the caller happens to be in. What any user can write is passed over, and so is, as root, what
// root must mistrust as it does a Python.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace hearth::os
