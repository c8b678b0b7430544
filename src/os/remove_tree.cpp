#include "os/remove_tree.h"

#include "base/id.h"
#include "os/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hearth::os {
namespace {

using Clock = std::chrono::steady_clock;

// Its owner may have closed a directory for itself, which also keeps it from being moved.
void make_enterable(int parent, const char* name) {
  const UniqueFd directory(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return;
  const std::string itself = "/proc/self/fd/" + std::to_string(directory.get());
  [[maybe_unused]] const int ignored = ::chmod(itself.c_str(), 0700);
}

UniqueFd open_directory(int parent, const char* name) {
  make_enterable(parent, name);
  return UniqueFd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Never goes deeper than one level: a directory in a directory is moved to the top first.
class Removal {
 public:
  Removal(const UniqueFd& top, Clock::time_point deadline) : top_(top), deadline_(deadline) {}

  void run() {
    do {
      removed_ = 0;
      clear(top_.get());
    } while (removed_ > 0 && !is_late());
  }

 private:
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };

  bool is_late() const { return Clock::now() >= deadline_; }

  void clear(int directory) {
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, Close> entries(copy < 0 ? nullptr : ::fdopendir(copy));
    if (!entries) return;
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string_view name = entry->d_name;
      if (is_late()) return;
      if (name != "." && name != ".." && remove(directory, entry->d_name)) ++removed_;
    }
  }

  bool remove(int directory, const char* name) {
    if (unlink(directory, name)) return true;
    return directory == top_.get() ? clear_and_unlink(name) : move_up(directory, name);
  }

  static bool unlink(int directory, const char* name) {
    return ::unlinkat(directory, name, 0) == 0 || errno == ENOENT ||
           ::unlinkat(directory, name, AT_REMOVEDIR) == 0;
  }

  bool clear_and_unlink(const char* name) {
    {
      const UniqueFd inner = open_directory(top_.get(), name);
      if (!inner) return false;
      clear(inner.get());
    }
    return unlink(top_.get(), name);
  }

  bool move_up(int directory, const char* name) {
    make_enterable(directory, name);
    const std::string new_name = prefix_ + std::to_string(moved_++);
    return ::renameat(directory, name, top_.get(), new_name.c_str()) == 0;
  }

  const UniqueFd& top_;
  Clock::time_point deadline_;
  std::string prefix_ = random_id() + '-';
  std::uint64_t moved_ = 0;
  std::uint64_t removed_ = 0;  // or moved, in this pass
};

}  // namespace

bool remove_tree(const std::filesystem::path& tree, Clock::time_point deadline) {
  if (::unlink(tree.c_str()) == 0 || errno == ENOENT) return true;
  {
    const UniqueFd top = open_directory(AT_FDCWD, tree.c_str());
    if (top) Removal(top, deadline).run();
  }
  return ::rmdir(tree.c_str()) == 0 || errno == ENOENT;
}

}  // namespace hearth::os
