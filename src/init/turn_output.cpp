#include "init/turn_output.h"

#include "base/json_escape.h"
#include "init/limits.h"
#include "wire/encode.h"

#include <algorithm>

namespace hearth::init {

void TurnOutput::add_text(Stream stream, std::string_view bytes) {
  while (!bytes.empty() && !limit_reached_) {
    // In pieces, so that the length of a line is bounded.
    const std::size_t piece =
        std::max<std::size_t>(complete_utf8_prefix(bytes.substr(0, read_chunk_bytes)), 1);
    if (append_text_line(stream, bytes.substr(0, piece))) {
      bytes.remove_prefix(piece);
      continue;
    }
    // The last text before the limit should still be seen.
    for (std::size_t part = complete_utf8_prefix(bytes.substr(0, piece / 2)); part > 0;
         part = complete_utf8_prefix(bytes.substr(0, part / 2)))
      if (append_text_line(stream, bytes.substr(0, part))) break;
    limit_reached_ = true;
  }
}

bool TurnOutput::append_text_line(Stream stream, std::string_view text) {
  std::string& out = host_.outgoing();
  const std::size_t before = out.size();
  wire::append_event_head(out, stream == Stream::out ? "stdout" : "stderr", execution_id_);
  out += R"(,"text":")";
  append_json_escaped(out, text);
  out += "\"}\n";
  const std::size_t line_bytes = out.size() - before;
  if (bytes_ + line_bytes > max_bytes_) {
    out.resize(before);
    return false;
  }
  bytes_ += line_bytes;
  return true;
}

void TurnOutput::add(wire::EventBody body) {
  if (limit_reached_) return;
  const std::string line = wire::encode(wire::Event{execution_id_, std::move(body)});
  if (bytes_ + line.size() > max_bytes_) {
    limit_reached_ = true;
    return;
  }
  bytes_ += line.size();
  host_.outgoing() += line;
}

}  // namespace hearth::init
