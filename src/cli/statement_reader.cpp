#include "cli/statement_reader.h"

#include <algorithm>
#include <utility>

namespace hearth::cli {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

bool StatementReader::add(std::string_view line) {
  if (text_.empty() && is_blank(line)) return false;
  const bool ends_block = in_block_ && is_blank(line);
  text_ += line;
  text_ += '\n';
  scan(line);
  return !is_open() && (!in_block_ || ends_block || broken_);
}

bool StatementReader::add_all(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    text_ += line;
    text_ += '\n';
    scan(line);
  }
  return !is_open();
}

bool StatementReader::is_open() const {
  return !broken_ && (!closing_brackets_.empty() || !open_quote_.empty() || continued_);
}

void StatementReader::scan_bracket(char byte) {
  if (byte == '(') closing_brackets_ += ')';
  if (byte == '[') closing_brackets_ += ']';
  if (byte == '{') closing_brackets_ += '}';
  if (byte != ')' && byte != ']' && byte != '}') return;
  broken_ = broken_ || !closing_brackets_.ends_with(byte);
  if (!closing_brackets_.empty()) closing_brackets_.pop_back();
}

// One line's effect on what is open. A colon at its end opens a block; so does a decorator.
void StatementReader::scan(std::string_view line) {
  char last = ' ';
  continued_ = false;
  bool goes_on = false;  // a string in single quotes, after a backslash
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char byte = line[at];
    if (!open_quote_.empty()) {
      if (byte == '\\') {
        ++at;
        goes_on = at == line.size();
      } else if (line.substr(at).starts_with(open_quote_)) {
        at += open_quote_.size() - 1;
        open_quote_.clear();
        last = '"';
      }
      continue;
    }
    if (byte == '#') break;
    if (byte == '"' || byte == '\'') {
      const std::string three(3, byte);
      open_quote_ = line.substr(at).starts_with(three) ? three : std::string(1, byte);
      at += open_quote_.size() - 1;
      continue;
    }
    scan_bracket(byte);
    if (byte != ' ' && byte != '\t' && byte != '\r') last = byte;
  }
  if (open_quote_.size() == 1 && !goes_on) broken_ = true;  // it must end with its line
  if (!closing_brackets_.empty() || !open_quote_.empty()) return;
  continued_ = last == '\\';
  const std::size_t first = line.find_first_not_of(" \t");
  if (last == ':' || (first != std::string_view::npos && line[first] == '@')) in_block_ = true;
}

std::string StatementReader::take() {
  std::string text = std::exchange(text_, {});
  *this = {};
  return text;
}

}  // namespace hearth::cli
