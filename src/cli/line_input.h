// cli/line_input.h: lines of standard input, awaited, whatever it is: a pipe, a terminal, a file.
#pragma once

#include "async/task.h"
#include "os/unique_fd.h"
#include "wire/line_reader.h"

#include <boost/asio/thread_pool.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace hearth::cli {

class LineInput {
 public:
  // `fd` stays the caller's, and as it is: it may be shared with other processes, so it never
  // becomes non-blocking.
  LineInput(int fd, std::size_t max_line_bytes);
  ~LineInput();
  LineInput(const LineInput&) = delete;
  LineInput& operator=(const LineInput&) = delete;

  struct Line {
    std::string text;
    bool too_long = false;  // its text was dropped
  };
  // Nothing at the end of the input. A last line may have no line end.
  Task<std::optional<Line>> next();

 private:
  int fd_;
  wire::LineReader lines_;
  bool has_ended_ = false;
  os::UniqueFd wake_;  // an eventfd: the thread shall stop waiting
  asio::thread_pool thread_{1};
};

}  // namespace hearth::cli
