// wire/tree_stream.h: how a tree travels on a data stream: each entry is a line, as an entry of a
// listing, and after that of a file come as many raw bytes as it says. A directory comes before
// what is in it.
#pragma once

#include "wire/file_messages.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::wire {

// Room for a path and a target of the longest, all of them escaped.
inline constexpr std::size_t max_tree_line_bytes = std::size_t{64} << 10;

// The line, newline included.
void append_tree_line(std::string& out, const FileEntry& entry);

// Entries and bytes out of a stream that is cut anywhere. What it says is not trusted: each path is
// one that problem_of_tree_path() allows, and more it does not promise.
class TreeStreamReader {
 public:
  void append(std::string_view bytes);

  // An entry, or bytes of the file that was the last entry; nothing if more bytes are needed. Valid
  // until the next call of either. Throws ProtocolError.
  struct Piece {
    std::optional<FileEntry> entry = {};
    std::string_view bytes = {};
  };
  std::optional<Piece> next();

  // False if an end of the stream here would cut an entry or a file.
  bool is_whole() const { return left_ == 0 && read_ == buffer_.size(); }

 private:
  std::string buffer_;
  std::size_t read_ = 0;    // of it
  std::uint64_t left_ = 0;  // of the file
};

}  // namespace hearth::wire
