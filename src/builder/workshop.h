// builder/workshop.h: a directory in which an environment is built, removed with its owner. The
// lock in it tells the directory of a live builder from a leftover.
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

// Removes those in `parent` whose builders are dead.
void remove_left_workshops(const std::filesystem::path& parent);

}  // namespace hearth::builder
