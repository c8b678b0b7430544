// os/run_program.h: runs a trusted program to its end with bytes in and bytes out. No shell, no
// terminal. Blocks its caller: coroutines call it through on_thread (async/blocking.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::os {

struct ProgramRequest {
  std::string program;  // a path, or a name that is looked up in PATH
  std::vector<std::string> arguments{};
  std::string input{};
  std::size_t max_output_bytes = 1'048'576;  // of each stream; the rest is read and dropped
  std::chrono::milliseconds timeout{30'000};
  std::optional<std::vector<std::string>> environment{};  // NAME=value; not set: the caller's
  std::string directory{};                                // where it starts; empty: the caller's
  bool errors_to_output = false;                          // both streams as one, in their order
  // Each piece of the output as it comes, also beyond the limit, on the calling thread.
  std::function<void(std::string_view)> on_output{};
  std::stop_token stop{};  // when asked, the program is killed as at a time-out
  // Further descriptors, which the program finds at `first_passed_fd` and after it, in this order.
  std::vector<int> passed_fds{};
  static constexpr int first_passed_fd = 4;
  // The program and its group are killed also when this process dies, however it dies. Needs
  // `input` for itself; `program` that cannot be started is then exit code 126 or 127.
  bool ends_with_caller = false;
};

struct ProgramResult {
  int exit_code = 0;  // 0 also when a signal ended it
  int ended_by_signal = 0;
  bool timed_out = false;  // then it was killed, with the process group it led
  bool stopped = false;    // the same, because its caller asked
  bool truncated = false;
  std::string output{};
  std::string errors{};

  bool succeeded() const {
    return exit_code == 0 && ended_by_signal == 0 && !timed_out && !stopped && !truncated;
  }
};

// OsError when the program cannot be started; its code is ENOENT when there is none.
ProgramResult run_program(const ProgramRequest& request);

}  // namespace hearth::os
