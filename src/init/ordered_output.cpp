#include "init/ordered_output.h"

#include "base/json_escape.h"
#include "init/limits.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace hearth::init {
namespace {

constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> take_number(std::string_view& line) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return value;
}

bool take_blank(std::string_view& line) {
  if (!line.starts_with(' ')) return false;
  line.remove_prefix(1);
  return true;
}

}  // namespace

OrderedOutput::OrderedOutput() : records_(max_record_bytes) {}

void OrderedOutput::add_text(Stream stream, std::string_view bytes) {
  text_[static_cast<std::size_t>(stream)].bytes.append(bytes);
}

void OrderedOutput::add_records(std::string_view bytes) { records_.append(bytes); }

std::size_t OrderedOutput::pending_text_bytes() const {
  return text_[0].bytes.size() + text_[1].bytes.size();
}

bool OrderedOutput::deliver(OutputSink& sink, bool emit_emptied,
                            const std::function<bool()>& read_more) {
  const bool read_late = deliver_records(sink, read_more);
  // A record that is still being written may belong before the text. But a script could leave one
  // unfinished forever, so the wait ends when the text grows large.
  const bool record_pending = read_late || !emit_emptied || records_.inside_line();
  if (!record_pending || pending_text_bytes() >= read_chunk_bytes) deliver_all_text(sink);
  return read_late;
}

void OrderedOutput::finish(OutputSink& sink) {
  deliver_records(sink, [] { return false; });
  deliver_all_text(sink);
  for (const Stream stream : {Stream::out, Stream::err}) {
    std::string& rest = text_[static_cast<std::size_t>(stream)].bytes;
    if (!rest.empty()) sink.on_text(stream, rest);
    rest.clear();
  }
}

std::size_t OrderedOutput::drop() {
  const std::size_t bytes = pending_text_bytes();
  for (Text& text : text_) {
    text.delivered += text.bytes.size();
    text.bytes.clear();
  }
  records_ = wire::LineReader(max_record_bytes);
  return bytes;
}

bool OrderedOutput::deliver_records(OutputSink& sink, const std::function<bool()>& read_more) {
  bool read_late = false;
  while (const std::optional<wire::LineReader::Line> line = records_.next()) {
    if (line->too_long) {
      sink.on_malformed_record();
    } else {
      read_late = deliver_record(sink, line->text, read_more) || read_late;
    }
  }
  return read_late;
}

bool OrderedOutput::deliver_record(OutputSink& sink, std::string_view line,
                                   const std::function<bool()>& read_more) {
  const auto malformed = [&sink] {
    sink.on_malformed_record();
    return false;
  };
  const std::optional<std::uint64_t> out = take_number(line);
  if (!out || !take_blank(line)) return malformed();
  const std::optional<std::uint64_t> err = take_number(line);
  if (!err || (!line.empty() && !take_blank(line))) return malformed();
  bool read_late = false;
  while (lacks(*out, *err) && read_more()) read_late = true;
  deliver_text(sink, Stream::out, *out);
  deliver_text(sink, Stream::err, *err);
  // Other processes than the worker have printed, and it did not count that. All text printed
  // before the record is here or in the pipes. Some later text may be, too, and cannot be told
  // apart.
  const bool is_miscounted = *out < text_[0].delivered || *err < text_[1].delivered;
  if (is_miscounted && !line.empty()) {
    read_late = read_more() || read_late;
    deliver_all_text(sink);
  }
  if (!line.empty()) sink.on_record(line);
  return read_late;
}

bool OrderedOutput::lacks(std::uint64_t out, std::uint64_t err) const {
  return out > text_[0].delivered + text_[0].bytes.size() ||
         err > text_[1].delivered + text_[1].bytes.size();
}

void OrderedOutput::deliver_text(OutputSink& sink, Stream stream, std::uint64_t up_to) {
  Text& text = text_[static_cast<std::size_t>(stream)];
  if (up_to <= text.delivered || text.bytes.empty()) return;
  const std::size_t available =
      static_cast<std::size_t>(std::min<std::uint64_t>(up_to - text.delivered, text.bytes.size()));
  const std::size_t size = complete_utf8_prefix(std::string_view(text.bytes).substr(0, available));
  if (size == 0) return;
  sink.on_text(stream, std::string_view(text.bytes).substr(0, size));
  text.delivered += size;
  text.bytes.erase(0, size);
}

void OrderedOutput::deliver_all_text(OutputSink& sink) {
  deliver_text(sink, Stream::out, everything);
  deliver_text(sink, Stream::err, everything);
}

}  // namespace hearth::init
