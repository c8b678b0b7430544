// cli/statement_reader.h: when what was typed so far is a whole statement.
#pragma once

#include <string>
#include <string_view>

namespace hearth::cli {

// Collects lines as Python's own prompt does: an open bracket, string or backslash asks for more,
// and a block (a line that ends with a colon) goes on until an empty line. What no further line can
// complete is whole: Python then says what is wrong with it.
class StatementReader {
 public:
  // True when `take()` has something to run.
  bool add(std::string_view line);
  // Several lines that came at once, pasted or from the history: a block in them is whole without
  // an empty line, and empty lines end none.
  bool add_all(std::string_view lines);
  bool empty() const { return text_.empty(); }
  std::string take();

 private:
  void scan(std::string_view line);
  void scan_bracket(char byte);
  bool is_open() const;

  std::string text_;
  std::string closing_brackets_;  // of those that are open, the outermost first
  std::string open_quote_;        // of the string that is open
  bool broken_ = false;
  bool continued_ = false;
  bool in_block_ = false;
};

}  // namespace hearth::cli
