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

namespace hearth::init {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_directory(int parent, const char* name) {
  // O_NOFOLLOW: a link in place of a directory is an error, not a way out.
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  Directory directory(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (!directory && fd >= 0) ::close(fd);
  return directory;
}

bool is_dot(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

// Empties one tree below `root` without recursion: a directory found inside another is first moved
// up to `root`, and is emptied when the root is listed again.
class Wiper {
 public:
  explicit Wiper(DIR* root) : root_(root), root_fd_(::dirfd(root)) {}

  std::vector<std::string> run() {
    do {
      moved_ = false;
      failures_.clear();
      ::rewinddir(root_);
      while (const dirent* entry = ::readdir(root_))
        if (!is_dot(entry->d_name)) remove_from_root(entry->d_name);
    } while (moved_);
    return failures_;
  }

 private:
  void remove_from_root(const char* name) {
    if (::unlinkat(root_fd_, name, 0) == 0) return;
    if (errno != EISDIR) return fail(name);
    // Its owner, which is the user of this process, may have removed every permission.
    ::fchmodat(root_fd_, name, 0700, 0);
    if (::unlinkat(root_fd_, name, AT_REMOVEDIR) == 0) return;
    const Directory directory = open_directory(root_fd_, name);
    if (!directory) return fail(name);
    empty(directory.get());
    if (::unlinkat(root_fd_, name, AT_REMOVEDIR) != 0) fail(name);
  }

  void empty(DIR* directory) {
    const int fd = ::dirfd(directory);
    while (const dirent* entry = ::readdir(directory)) {
      if (is_dot(entry->d_name) || ::unlinkat(fd, entry->d_name, 0) == 0) continue;
      if (errno != EISDIR) {
        fail(entry->d_name);
        continue;
      }
      ::fchmodat(fd, entry->d_name, 0700, 0);
      if (::unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0) continue;
      move_up(fd, entry->d_name);
    }
  }

  void move_up(int fd, const char* name) {
    while (true) {
      const std::string free_name = ".hearth-wipe-" + std::to_string(next_name_++);
      if (::renameat2(fd, name, root_fd_, free_name.c_str(), RENAME_NOREPLACE) == 0) {
        moved_ = true;
        return;
      }
      if (errno != EEXIST) return fail(name);
    }
  }

  void fail(const char* name) {
    if (failures_.size() < 16) failures_.push_back(std::string(name) + ": " + std::strerror(errno));
  }

  DIR* root_;
  int root_fd_;
  bool moved_ = false;
  std::uint64_t next_name_ = 0;
  std::vector<std::string> failures_;
};

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

std::vector<std::string> wipe_directory(const std::string& path, mode_t mode) {
  // Fails on a directory of another user. A script could not have changed its mode either.
  ::chmod(path.c_str(), mode);
  const Directory root = open_directory(AT_FDCWD, path.c_str());
  if (!root) {
    if (errno == ENOENT) return {};
    return {path + ": " + std::strerror(errno)};
  }
  std::vector<std::string> failures = Wiper(root.get()).run();
  forget_attributes(::dirfd(root.get()), mode, failures);
  for (std::string& failure : failures) failure = path + '/' + failure;
  return failures;
}

void remove_ipc_objects() {
  remove_listed("/proc/sysvipc/shm", [](int id) { ::shmctl(id, IPC_RMID, nullptr); });
  remove_listed("/proc/sysvipc/sem", [](int id) { ::semctl(id, 0, IPC_RMID); });
  remove_listed("/proc/sysvipc/msg", [](int id) { ::msgctl(id, IPC_RMID, nullptr); });
}

}  // namespace hearth::init
