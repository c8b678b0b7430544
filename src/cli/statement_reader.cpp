#include "cli/statement_reader.h"

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
  if (open_brackets_ > 0 || !open_quote_.empty() || continued_) return false;
  return !in_block_ || ends_block;
}

// One line's effect on what is open. A colon at its end opens a block; so does a decorator.
void StatementReader::scan(std::string_view line) {
  char last = ' ';
  continued_ = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char byte = line[at];
    if (!open_quote_.empty()) {
      if (byte == '\\') {
        ++at;
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
    if (byte == '(' || byte == '[' || byte == '{') ++open_brackets_;
    if ((byte == ')' || byte == ']' || byte == '}') && open_brackets_ > 0) --open_brackets_;
    if (byte != ' ' && byte != '\t' && byte != '\r') last = byte;
  }
  // A string in single quotes ends with its line.
  if (open_quote_.size() == 1) open_quote_.clear();
  if (open_brackets_ > 0 || !open_quote_.empty()) return;
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
