// files/directory_walk.h: goes through a directory and those in it, from descriptor to descriptor.
// It holds one directory open, however deep the tree is, and goes up by "..": a directory that was
// moved meanwhile is not taken for its old parent.
#pragma once

#include "files/file_failure.h"
#include "os/unique_fd.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace hearth::files {

// All throw FileFailure.
class DirectoryWalk {
 public:
  // `top` is open for reading.
  explicit DirectoryWalk(os::UniqueFd top);

  // The next one in the open directory but "." and "..", valid until the next call; null at its
  // end.
  const dirent* next();
  // `below` is the directory of that name in the open one, which it replaces.
  void enter(os::UniqueFd below, const char* name);
  // To the directory above, where it goes on.
  void leave();

  int fd() const { return ::dirfd(directory_.get()); }
  std::size_t depth() const { return above_.size(); }  // 0: the top is open
  // Of the open directory, as seen from the top; empty for the top.
  const std::string& path() const { return path_; }
  std::string path_of(const char* name) const;

  // Where the listing of each directory goes on, from the top down to the open one.
  std::vector<long> positions() const;
  void go_to(long position) { ::seekdir(directory_.get(), position); }

 private:
  struct Level {  // above the open directory
    dev_t device;
    ino_t inode;
    long position;           // where its listing goes on
    std::size_t path_bytes;  // of its own part of path_
  };
  using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

  void open(os::UniqueFd fd);

  Directory directory_{nullptr, ::closedir};
  std::string path_;
  std::vector<Level> above_;
};

// A directory for a walk, and no link to one. Not open if it cannot be, see errno.
os::UniqueFd open_directory(int parent, const char* name);

}  // namespace hearth::files
