#include "init/wipe.h"

#include "os/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace hearth::init {
namespace {

TreeWiper::Directory open_directory(int parent, const char* name) {
  // O_NOFOLLOW: a link in place of a directory is an error, not a way out.
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  TreeWiper::Directory directory(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (!directory && fd >= 0) ::close(fd);
  return directory;
}

bool is_dot(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

// What can be written onto the directory itself: attributes, access lists, times.
void forget_attributes(int fd, mode_t mode, std::vector<std::string>& failures) {
  std::array<char, XATTR_LIST_MAX> names;  // NOLINT: filled by flistxattr
  const ssize_t size = ::flistxattr(fd, names.data(), names.size());
  for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(std::strlen(&names[at])) + 1)
    if (::fremovexattr(fd, &names[at]) != 0 && std::strncmp(&names[at], "security.", 9) != 0)
      failures.push_back(std::string(&names[at]) + ": " + std::strerror(errno));
  ::fchmod(fd, mode);
  ::futimens(fd, nullptr);
}

template <typename Remove>
void remove_listed(const char* list, Remove remove) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(list, "re"), std::fclose);
  char line[512];
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr) {
    int key = 0;
    int id = 0;
    if (std::sscanf(line, "%d %d", &key, &id) == 2) remove(id);  // NOLINT: the kernel wrote it
  }
}

}  // namespace

TreeWiper::TreeWiper(int parent, const char* name) : root_(open_directory(parent, name)) {
  if (!root_) fail(name);
}

bool TreeWiper::advance(std::size_t entries) {
  if (!root_) return true;
  for (; entries > 0; --entries) {
    DIR* const directory = inner_ ? inner_.get() : root_.get();
    if (const dirent* entry = ::readdir(directory)) {
      if (!is_dot(entry->d_name)) remove(entry->d_name);
    } else if (inner_) {
      inner_.reset();
      if (::unlinkat(::dirfd(root_.get()), inner_name_.c_str(), AT_REMOVEDIR) != 0)
        fail(inner_name_.c_str());
    } else if (!std::exchange(moved_, false)) {
      return true;
    } else {
      failures_.clear();
      ::rewinddir(root_.get());
    }
  }
  return false;
}

void TreeWiper::remove(const char* name) {
  const int fd = ::dirfd(inner_ ? inner_.get() : root_.get());
  if (::unlinkat(fd, name, 0) == 0) return;
  if (errno != EISDIR) return fail(name);
  // Its owner, which is the user of this process, may have removed every permission.
  ::fchmodat(fd, name, 0700, 0);
  if (::unlinkat(fd, name, AT_REMOVEDIR) == 0) return;
  if (errno != ENOTEMPTY) return fail(name);  // a mount, for example
  if (inner_) return move_up(fd, name);
  inner_ = open_directory(fd, name);
  inner_name_ = name;
  if (!inner_) fail(name);
}

void TreeWiper::move_up(int fd, const char* name) {
  while (true) {
    const std::string free_name = ".hearth-wipe-" + std::to_string(next_name_++);
    if (::renameat2(fd, name, ::dirfd(root_.get()), free_name.c_str(), RENAME_NOREPLACE) == 0) {
      moved_ = true;
      return;
    }
    if (errno != EEXIST) return fail(name);
  }
}

void TreeWiper::fail(const char* name) {
  if (failures_.size() < 16) failures_.push_back(std::string(name) + ": " + std::strerror(errno));
}

std::vector<std::string> wipe_directory(const std::string& path, mode_t mode) {
  // Fails on a directory of another user. A script could not have changed its mode either.
  ::chmod(path.c_str(), mode);
  TreeWiper tree(AT_FDCWD, path.c_str());
  if (tree.fd() < 0) {
    if (errno == ENOENT) return {};
    return {path + ": " + std::strerror(errno)};
  }
  tree.advance(static_cast<std::size_t>(-1));
  std::vector<std::string> failures = tree.failures();
  forget_attributes(tree.fd(), mode, failures);
  for (std::string& failure : failures) failure = path + '/' + failure;
  return failures;
}

void remove_ipc_objects() {
  remove_listed("/proc/sysvipc/shm", [](int id) { ::shmctl(id, IPC_RMID, nullptr); });
  remove_listed("/proc/sysvipc/sem", [](int id) { ::semctl(id, 0, IPC_RMID); });
  remove_listed("/proc/sysvipc/msg", [](int id) { ::msgctl(id, IPC_RMID, nullptr); });
}

}  // namespace hearth::init
