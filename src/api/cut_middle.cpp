#include "api/cut_middle.h"

#include "base/json_escape.h"

namespace hearth::api {
namespace {

// "1,204,551"
std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string marker(std::uint64_t left_out_bytes, std::string_view hint) {
  return "[… " + with_commas(left_out_bytes) + " bytes left out" + std::string(hint) + "]";
}

// A line end counts if it costs less than half of the place; else a long line is cut.
std::size_t head_bytes(std::string_view text, std::size_t most) {
  const std::size_t line_end = most == 0 ? text.npos : text.rfind('\n', most - 1);
  if (line_end != text.npos && line_end >= most / 2) return line_end;
  return complete_utf8_prefix(text.substr(0, most));
}

std::size_t tail_bytes(std::string_view text, std::size_t most) {
  std::size_t begin = text.size() - most;
  const std::size_t line_end = text.find('\n', begin);
  if (line_end != text.npos && line_end - begin <= most / 2) return text.size() - line_end - 1;
  constexpr unsigned char continuation = 0x80;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0U) == continuation)
    ++begin;
  return text.size() - begin;
}

}  // namespace

Cut cut_middle(std::string_view text, std::size_t max_bytes, std::string_view hint) {
  constexpr std::size_t line_ends = 2;
  const std::size_t overhead = marker(text.size(), hint).size() + line_ends;
  const std::size_t room = max_bytes > overhead ? max_bytes - overhead : 0;
  const std::size_t most_head = room * 6 / 10;
  const std::size_t head = head_bytes(text, most_head);
  const std::size_t tail = tail_bytes(text, room - most_head);
  Cut cut;
  cut.left_out_bytes = text.size() - head - tail;
  cut.text = std::string(text.substr(0, head)) + (head > 0 ? "\n" : "");
  cut.text += marker(cut.left_out_bytes, hint);
  if (tail > 0) cut.text += '\n' + std::string(text.substr(text.size() - tail));
  return cut;
}

}  // namespace hearth::api
