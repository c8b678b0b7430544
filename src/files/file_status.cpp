#include "files/file_status.h"

#include "wire/file_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace hearth::files {

using wire::FileKind;
using wire::FileProblem;

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::file;
  if (S_ISDIR(mode)) return FileKind::directory;
  return S_ISLNK(mode) ? FileKind::symlink : FileKind::other;
}

wire::FileEntry entry_of(std::string path, const struct stat& status, int directory,
                         const char* name) {
  wire::FileEntry entry{.path = std::move(path), .kind = kind_of(status.st_mode)};
  entry.size_bytes = static_cast<std::uint64_t>(status.st_size);
  entry.mode = status.st_mode & 07777;
  entry.modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (entry.kind != FileKind::symlink) return entry;
  std::array<char, wire::max_path_bytes> target;  // NOLINT: filled by readlinkat
  const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
  if (size < 0) throw failure_of(errno);
  entry.target.assign(target.data(), static_cast<std::size_t>(size));
  return entry;
}

void require_regular(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) throw failure_of(EISDIR);
  throw FileFailure(FileProblem::invalid_path,
                    S_ISLNK(status.st_mode) ? "it is a symbolic link" : "it is not a regular file");
}

// O_NONBLOCK: it may be a pipe by the time it is opened.
os::UniqueFd open_regular(int directory, const char* name) {
  struct stat status{};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) throw failure_of(errno);
  require_regular(status);
  os::UniqueFd file(
      ::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) throw failure_of(errno);
  if (::fstat(file.get(), &status) != 0) throw failure_of(errno);
  require_regular(status);
  return file;
}

bool is_changed(const struct stat& before, const struct stat& after) {
  return before.st_size != after.st_size || before.st_mtim.tv_sec != after.st_mtim.tv_sec ||
         before.st_mtim.tv_nsec != after.st_mtim.tv_nsec;
}

}  // namespace hearth::files
