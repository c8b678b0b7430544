// cli/byte_output.h: bytes to standard output or error, awaited: when its reader is slow, only the
// task that writes waits.
#pragma once

#include "async/task.h"
#include "os/unique_fd.h"

#include <boost/asio/thread_pool.hpp>

#include <string_view>

namespace hearth::cli {

class ByteOutput {
 public:
  // `fd` stays the caller's, and as it is: see ByteInput.
  explicit ByteOutput(int fd);
  ~ByteOutput();
  ByteOutput(const ByteOutput&) = delete;
  ByteOutput& operator=(const ByteOutput&) = delete;

  // Returns when all is written. `bytes` must outlive the task. OsError when no more can be
  // written, EPIPE if the reader is gone; Error after abandon(); operation_aborted when its task is
  // cancelled.
  Task<> write(std::string_view bytes);
  // What is not written yet never is.
  void abandon();

  int failure() const { return failure_; }  // an errno; 0: none
  // What was written does not end with a line end.
  bool inside_line() const { return inside_line_; }

 private:
  int fd_;
  int failure_ = 0;
  bool inside_line_ = false;
  os::UniqueFd wake_;  // an eventfd: the thread shall stop waiting
  asio::thread_pool thread_{1};
};

}  // namespace hearth::cli
