// wire/stream_messages.h: data streams, which share the one byte stream of a sandbox with the
// lines. The host chooses a stream's id in the request that opens it. Data travels in frames: a
// header line, then as many raw bytes as it says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::wire {

using StreamId = std::uint32_t;

inline constexpr std::size_t max_frame_bytes = std::size_t{64} << 10;
// What a sender may send before its reader has granted more. It bounds the memory of a stream, and
// lets a small file travel without waiting for an answer.
inline constexpr std::uint64_t first_window_bytes = std::uint64_t{512} << 10;

// The reader of a stream grants its sender so many bytes more.
struct Window {
  StreamId stream = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Window&) const = default;
};

// The sender has sent all, or the reader wants no more.
struct End {
  StreamId stream = 0;
  bool operator==(const End&) const = default;
};

// One side wants no more of the stream. What is under way is dropped.
struct Abandon {
  StreamId stream = 0;
  bool operator==(const Abandon&) const = default;
};

struct DataHeader {
  StreamId stream = 0;
  std::uint32_t bytes = 0;  // that follow the line, at most max_frame_bytes
  bool operator==(const DataHeader&) const = default;
};

// The line, newline included.
void append_data_header(std::string& out, const DataHeader& header);

// Nothing if the line, without its newline, is another message. There is one spelling only; what
// begins like a header and is none is a ProtocolError.
std::optional<DataHeader> data_header(std::string_view line);

}  // namespace hearth::wire
