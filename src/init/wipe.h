// init/wipe.h: removes files and IPC objects that turns left. No process that could interfere may
// be alive.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hearth::init {

// Empties a directory without recursion: a directory found inside another is first moved up to the
// top, and is emptied when the top is listed again. Follows no link and crosses no mount. Needs the
// same few descriptors and little memory however deep the tree is.
class TreeWiper {
 public:
  TreeWiper(int parent, const char* name);

  // Goes on by so many entries. True when nothing is left but what cannot be removed.
  bool advance(std::size_t entries);
  int fd() const { return root_ ? ::dirfd(root_.get()) : -1; }
  const std::vector<std::string>& failures() const { return failures_; }

  using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

 private:
  void remove(const char* name);
  void move_up(int fd, const char* name);
  void fail(const char* name);

  Directory root_;
  Directory inner_{nullptr, ::closedir};  // the one in it that is being emptied
  std::string inner_name_;
  bool moved_ = false;
  std::uint64_t next_name_ = 0;
  std::vector<std::string> failures_;
};

// Empties the directory, keeps it, and restores its `mode`. Returns a sentence for
// each thing that could not be removed. A directory that does not exist counts as empty.
std::vector<std::string> wipe_directory(const std::string& path, mode_t mode);

// System V shared memory, semaphores and message queues of this IPC namespace.
void remove_ipc_objects();

}  // namespace hearth::init
