// bench/floor.h: the reference of every turn, see floor.py.
#pragma once

#include "os/unique_fd.h"

#include <sys/types.h>

#include <string_view>

namespace hearth::bench {

class Floor {
 public:
  Floor();
  ~Floor();
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  // A new warmed fork in place of the one before.
  void renew();
  void round_trip(std::string_view script);

 private:
  os::UniqueFd to_;
  os::UniqueFd from_;
  pid_t pid_ = 0;
  bool forked_ = false;
};

}  // namespace hearth::bench
