// cli/line_input.h: lines of standard input, awaited.
#pragma once

#include "async/task.h"
#include "cli/byte_input.h"
#include "wire/line_reader.h"

#include <cstddef>
#include <optional>
#include <string>

namespace hearth::cli {

class LineInput {
 public:
  // `fd` stays the caller's: see ByteInput.
  LineInput(int fd, std::size_t max_line_bytes) : bytes_(fd), lines_(max_line_bytes) {}

  struct Line {
    std::string text;
    bool too_long = false;  // its text was dropped
  };
  // Nothing at the end of the input. A last line may have no line end.
  Task<std::optional<Line>> next();

 private:
  ByteInput bytes_;
  wire::LineReader lines_;
  bool has_ended_ = false;
};

}  // namespace hearth::cli
