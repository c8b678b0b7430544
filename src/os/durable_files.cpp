#include "os/durable_files.h"

#include "base/error.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace hearth::os {
namespace {

namespace fs = std::filesystem;

UniqueFd open_directory(const fs::path& path) {
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) throw OsError("open " + path.string());
  return directory;
}

void write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw OsError("write " + path.string());
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void set_mode(const fs::path& path, mode_t mode) {
  if (::chmod(path.c_str(), mode) != 0) throw OsError("change the mode of " + path.string());
}

void write_and_sync(const fs::path& path, std::string_view content, mode_t mode, int flags) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode));
  if (!file) throw OsError("create " + path.string());
  write_all(file.get(), content, path);
  if (::fchmod(file.get(), mode) != 0) throw OsError("change the mode of " + path.string());
  if (::fsync(file.get()) != 0) throw OsError("sync " + path.string());
}

}  // namespace

void write_new_file(const fs::path& path, std::string_view content, mode_t mode) {
  write_and_sync(path, content, mode, O_EXCL);
}

void replace_file(const fs::path& path, std::string_view content, mode_t mode) {
  fs::path fresh = path;
  fresh += ".new";
  // One that a crash left, or a link: it is not written through.
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT) throw OsError("remove " + fresh.string());
  write_and_sync(fresh, content, mode, O_EXCL);
  if (::rename(fresh.c_str(), path.c_str()) != 0) throw OsError("replace " + path.string());
  sync_directory(path.parent_path());
}

void make_directory(const fs::path& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0) throw OsError("create " + path.string());
  // Another user of the directory above may have exchanged it for a link to anything.
  const UniqueFd made(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts{};
  if (!made || ::fstat(made.get(), &facts) != 0) throw OsError("open " + path.string());
  if (facts.st_uid != ::geteuid()) throw Error(path.string() + " was exchanged");
  if (::fchmod(made.get(), mode) != 0) throw OsError("change the mode of " + path.string());
}

void make_world_readable(const fs::path& tree) {
  constexpr mode_t executable = S_IXUSR | S_IXGRP | S_IXOTH;
  set_mode(tree, 0755);
  for (fs::recursive_directory_iterator entry(tree), end; entry != end; ++entry) {
    struct stat facts{};
    if (::lstat(entry->path().c_str(), &facts) != 0)
      throw OsError("look at " + entry->path().string());
    if (S_ISDIR(facts.st_mode)) {
      set_mode(entry->path(), 0755);  // before the iterator goes into it
    } else if (S_ISREG(facts.st_mode)) {
      set_mode(entry->path(), (facts.st_mode & executable) != 0 ? 0755 : 0644);
    }
  }
}

void sync_directory(const fs::path& directory) {
  const UniqueFd fd = open_directory(directory);
  if (::fsync(fd.get()) != 0) throw OsError("sync " + directory.string());
}

void sync_file_system(const fs::path& directory) {
  const UniqueFd fd = open_directory(directory);
  if (::syncfs(fd.get()) != 0) throw OsError("sync the file system of " + directory.string());
}

void put_in_place(const fs::path& tree, const fs::path& place) {
  const auto is_taken = [] { return errno == EEXIST || errno == ENOTEMPTY; };
  const auto exchange = [&] {
    return ::renameat2(AT_FDCWD, tree.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0;
  };
  if (::rename(tree.c_str(), place.c_str()) != 0 && !(is_taken() && exchange()))
    throw OsError("move " + tree.string() + " to " + place.string());
  sync_directory(place.parent_path());
}

}  // namespace hearth::os
