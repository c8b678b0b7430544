#include "wire/tree_stream.h"

#include "wire/file_codec.h"
#include "wire/file_path.h"
#include "wire/protocol_error.h"

#include <algorithm>

namespace hearth::wire {

void append_tree_line(std::string& out, const FileEntry& entry) {
  append_entry(out, entry);
  out += '\n';
}

void TreeStreamReader::append(std::string_view bytes) {
  buffer_.erase(0, read_);
  read_ = 0;
  buffer_ += bytes;
}

std::optional<TreeStreamReader::Piece> TreeStreamReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(read_);
  if (rest.empty()) return std::nullopt;
  if (left_ > 0) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, rest.size()));
    left_ -= size;
    read_ += size;
    return Piece{.bytes = rest.substr(0, size)};
  }
  const std::size_t end = rest.substr(0, max_tree_line_bytes).find('\n');
  if (end == std::string_view::npos) {
    if (rest.size() >= max_tree_line_bytes) throw ProtocolError("an entry of a tree is too long");
    return std::nullopt;
  }
  Piece piece{.entry = decode_entry(rest.substr(0, end))};
  if (const std::string problem = problem_of_tree_path(piece.entry->path); !problem.empty())
    throw ProtocolError("\"path\" " + problem);
  read_ += end + 1;
  if (piece.entry->kind == FileKind::file) left_ = piece.entry->size_bytes;
  return piece;
}

}  // namespace hearth::wire
