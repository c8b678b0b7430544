// cli/copy_progress.h: how far a copy is, on a terminal, once it takes long.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace hearth::cli {

class CopyProgress {
 public:
  using Clock = std::chrono::steady_clock;
  // `what` reads like "--put". Without a terminal it says nothing.
  CopyProgress(std::string what, bool on_terminal, std::ostream& terminal)
      : what_(std::move(what)), on_terminal_(on_terminal), terminal_(terminal) {}
  ~CopyProgress() { clear(); }
  CopyProgress(const CopyProgress&) = delete;
  CopyProgress& operator=(const CopyProgress&) = delete;

  void add_file() { ++files_; }
  void add_bytes(std::uint64_t bytes, Clock::time_point now = Clock::now());
  // Leaves the line empty, for another one.
  void clear();

 private:
  std::string what_;
  bool on_terminal_;
  std::ostream& terminal_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
  bool is_shown_ = false;
};

}  // namespace hearth::cli
