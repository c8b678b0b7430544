// cli/byte_input.h: bytes of standard input, awaited, whatever it is: a pipe, a terminal, a file.
#pragma once

#include "async/task.h"
#include "os/unique_fd.h"

#include <boost/asio/thread_pool.hpp>

#include <string>

namespace hearth::cli {

class ByteInput {
 public:
  // `fd` stays the caller's, and as it is: it may be shared with other processes, so it never
  // becomes non-blocking.
  explicit ByteInput(int fd);
  ~ByteInput();
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;

  // At most 64 KiB; empty at the end of the input. Throws operation_aborted when its task is
  // cancelled, and is of no use any more.
  Task<std::string> next();

 private:
  int fd_;
  os::UniqueFd wake_;  // an eventfd: the thread shall stop waiting
  asio::thread_pool thread_{1};
};

}  // namespace hearth::cli
