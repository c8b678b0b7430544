#include "cli/line_input.h"

namespace hearth::cli {

Task<std::optional<LineInput::Line>> LineInput::next() {
  while (true) {
    if (const std::optional<wire::LineReader::Line> line = lines_.next())
      co_return Line{std::string(line->text), line->too_long};
    if (has_ended_) co_return std::nullopt;
    const std::string piece = co_await bytes_.next();
    has_ended_ = piece.empty();
    lines_.append(has_ended_ && lines_.inside_line() ? "\n" : piece);
  }
}

}  // namespace hearth::cli
