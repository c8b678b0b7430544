// init/nonblocking_io.h: reads and writes as much as is possible without waiting.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hearth::init {

void make_nonblocking(int fd);

struct ReadResult {
  std::size_t bytes = 0;
  bool ended = false;    // end of stream, or an error that means the same
  bool emptied = false;  // nothing is left for now
};
ReadResult read_available(int fd, std::span<char> into);

struct WriteResult {
  std::size_t bytes = 0;
  bool broken = false;  // the reader has closed its end
};
WriteResult write_available(int fd, std::string_view bytes);

}  // namespace hearth::init
