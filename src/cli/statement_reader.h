// cli/statement_reader.h: when what was typed so far is a whole statement.
#pragma once

#include <string>
#include <string_view>

namespace hearth::cli {

// Collects lines as Python's own prompt does: an open bracket, string or backslash asks for more,
// and a block (a line that ends with a colon) goes on until an empty line.
class StatementReader {
 public:
  // True when `take()` has something to run.
  bool add(std::string_view line);
  bool empty() const { return text_.empty(); }
  std::string take();

 private:
  void scan(std::string_view line);

  std::string text_;
  int open_brackets_ = 0;
  std::string open_quote_;  // """ or ''' when inside one
  bool continued_ = false;
  bool in_block_ = false;
};

}  // namespace hearth::cli
