#include "init/turn_output.h"

#include "base/json_escape.h"
#include "init/limits.h"
#include "wire/encode.h"
#include "wire/member_reader.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace hearth::init {
namespace {

constexpr std::uint64_t tail_percent = 40;
constexpr std::uint64_t most_tail_bytes = std::uint64_t{4} << 20;  // of init's own memory

std::string text_line(Stream stream, std::string_view execution_id, std::string_view text) {
  std::string line;
  wire::append_event_head(line, stream == Stream::out ? "stdout" : "stderr", execution_id);
  line += R"(,"text":")";
  append_json_escaped(line, text);
  line += "\"}\n";
  return line;
}

Stream stream_of(OutputTail::Kind kind) {
  return kind == OutputTail::Kind::err ? Stream::err : Stream::out;
}

bool ends_a_turn(const wire::EventBody& body) {
  return std::holds_alternative<wire::FinalResult>(body) ||
         std::holds_alternative<wire::ScriptError>(body);
}

}  // namespace

// Of the part that is passed on at once.
std::uint64_t TurnOutput::room() const {
  if (!truncates_) return max_bytes_;
  return max_bytes_ - std::min(max_bytes_ * tail_percent / 100, most_tail_bytes);
}

void TurnOutput::add_text(Stream stream, std::string_view bytes) {
  while (!bytes.empty() && !limit_reached_) {
    // In pieces, so that the length of a line is bounded.
    const std::size_t size =
        std::max<std::size_t>(complete_utf8_prefix(bytes.substr(0, read_chunk_bytes)), 1);
    const std::string_view piece = bytes.substr(0, size);
    if (tail_) {
      tail_->add_text(stream, piece);
    } else if (!append_text(stream, piece, room())) {
      // The last text before the limit should still be seen.
      bytes.remove_prefix(append_part(stream, piece, room()));
      if (truncates_)
        begin_tail();
      else
        limit_reached_ = true;
      continue;
    }
    bytes.remove_prefix(size);
  }
}

bool TurnOutput::append_text(Stream stream, std::string_view text, std::uint64_t most_bytes) {
  if (!append_line(text_line(stream, execution_id_, text), most_bytes)) return false;
  is_inside_line_[static_cast<std::size_t>(stream)] = !text.ends_with('\n');
  return true;
}

// Returns how many bytes of the beginning were appended. Where more follows in a tail, they end a
// line if they can.
std::size_t TurnOutput::append_part(Stream stream, std::string_view text,
                                    std::uint64_t most_bytes) {
  for (std::size_t part = complete_utf8_prefix(text.substr(0, text.size() / 2)); part > 0;
       part = complete_utf8_prefix(text.substr(0, part / 2))) {
    const std::size_t newline = text.substr(0, part).rfind('\n');
    const std::size_t size = truncates_ && newline != std::string_view::npos ? newline + 1 : part;
    if (append_text(stream, text.substr(0, size), most_bytes)) return size;
  }
  return 0;
}

bool TurnOutput::append_line(const std::string& line, std::uint64_t most_bytes) {
  if (bytes_ + line.size() > most_bytes) return false;
  bytes_ += line.size();
  host_.outgoing() += line;
  return true;
}

void TurnOutput::add(wire::EventBody body) {
  if (limit_reached_) return;
  if (truncates_) return add_truncating(std::move(body));
  limit_reached_ =
      !append_line(wire::encode(wire::Event{execution_id_, std::move(body)}), max_bytes_);
}

void TurnOutput::add_truncating(wire::EventBody body) {
  auto* display = std::get_if<wire::Display>(&body);
  if (display != nullptr && add_display(*display)) return;
  const bool is_result = ends_a_turn(body);
  std::string line = wire::encode(wire::Event{execution_id_, std::move(body)});
  if (!tail_ && append_line(line, is_result ? max_bytes_ : room())) return;
  if (!tail_) begin_tail();
  if (is_result)
    limit_reached_ = !tail_->add_result(std::move(line));
  else
    tail_->add_event(std::move(line));
}

// They have a limit of their own. Beyond it, only the text remains of a display.
bool TurnOutput::add_display(wire::Display& display) {
  const std::string line = wire::encode(wire::Event{execution_id_, display});
  if (display_bytes_ + line.size() <= wire::max_display_bytes) {
    display_bytes_ += line.size();
    host_.outgoing() += line;
    return true;
  }
  ++shortened_displays_;
  wire::MemberReader forms(display.data.text);
  display.data.text = R"({"text/plain":)";
  append_json_string(display.data.text, forms.optional_string("text/plain"));
  display.data.text += '}';
  return false;
}

void TurnOutput::finish() {
  if (!tail_) return;
  const std::deque<OutputTail::Item> items =
      tail_->take([this](OutputTail::Kind kind, std::string_view text) {
        return text_line(stream_of(kind), execution_id_, text).size();
      });
  mark_gap(Stream::out, tail_->dropped().stdout_bytes);
  mark_gap(Stream::err, tail_->dropped().stderr_bytes);
  for (const OutputTail::Item& item : items) append_item(item);
}

void TurnOutput::append_item(const OutputTail::Item& item) {
  const bool is_text = item.kind == OutputTail::Kind::out || item.kind == OutputTail::Kind::err;
  append_line(is_text ? text_line(stream_of(item.kind), execution_id_, item.bytes) : item.bytes,
              max_bytes_);
}

void TurnOutput::mark_gap(Stream stream, std::uint64_t bytes) {
  if (bytes == 0) return;
  std::string mark = is_inside_line_[static_cast<std::size_t>(stream)] ? "\n" : "";
  mark += "[... " + std::to_string(bytes) + " bytes left out ...]\n";
  if (stream == Stream::out)
    say(wire::Stdout{std::move(mark)});
  else
    say(wire::Stderr{std::move(mark)});
}

std::optional<wire::Truncated> TurnOutput::truncated() const {
  wire::Truncated truncated = tail_ ? tail_->dropped() : wire::Truncated{};
  truncated.displays = shortened_displays_;
  return truncated == wire::Truncated{} ? std::nullopt : std::optional(truncated);
}

}  // namespace hearth::init
