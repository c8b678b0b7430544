// builder/workshop.h: a directory in which an environment is built, gone with its owner. Whether
// one that is found is somebody's or a dead builder's, the lock in it says.
#pragma once

#include "os/file_lock.h"

#include <filesystem>

namespace hearth::builder {

class Workshop {
 public:
  explicit Workshop(const std::filesystem::path& parent);
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop();

  const std::filesystem::path& path() const { return path_; }

 private:
  bool take();

  std::filesystem::path path_;
  std::optional<os::FileLock> lock_;
};

// Those in `parent` whose builders are dead.
void remove_left_workshops(const std::filesystem::path& parent);

}  // namespace hearth::builder
