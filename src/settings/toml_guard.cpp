#include "settings/toml_guard.h"

namespace hearth::settings {
namespace {

constexpr std::size_t most_key_parts = 16;
constexpr std::size_t most_brackets = 16;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<TooDeep> scan() {
    while (at_ < text_.size()) {
      step(text_[at_]);
      if (dots_ >= most_key_parts) return here("a key has more than 16 parts");
      if (brackets_ > most_brackets) return here("lists and tables are nested more than 16 deep");
    }
    return std::nullopt;
  }

 private:
  void step(char letter) {
    switch (letter) {
      case '"':
      case '\'':
        skip_string(letter);
        return;
      case '#':
        skip_comment();
        return;
      case '.':
        ++dots_;
        break;
      case '[':
      case '{':
        ++brackets_;
        dots_ = 0;
        break;
      case ']':
      case '}':
        if (brackets_ > 0) --brackets_;
        dots_ = 0;
        break;
      case '=':
      case ',':
        dots_ = 0;
        break;
      case '\n':
        ++line_;
        line_start_ = at_ + 1;
        dots_ = 0;
        break;
      default:
        break;
    }
    ++at_;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  // Dots and brackets in strings mean nothing. An unfinished string ends its line, as in TOML; what
  // follows an error is never parsed.
  void skip_string(char quote) {
    const bool multi_line = text_.substr(at_, 3) == std::string(3, quote);
    at_ += multi_line ? 3 : 1;
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '\n') {
        if (!multi_line) return;
        ++line_;
        line_start_ = at_ + 1;
      }
      if (letter == '\\' && quote == '"') {
        // The character after it is taken as it is, but a line break still counts as one.
        at_ += at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2 : 1;
        continue;
      }
      if (letter == quote && !multi_line) {
        ++at_;
        return;
      }
      if (letter == quote && text_.substr(at_, 3) == std::string(3, quote)) {
        skip_closing_quotes(quote);
        return;
      }
      ++at_;
    }
  }

  // Up to two quotes may stand directly before the closing three.
  void skip_closing_quotes(char quote) {
    for (int count = 0; count < 5 && at_ < text_.size() && text_[at_] == quote; ++count) ++at_;
  }

  TooDeep here(std::string message) const {
    return {line_, at_ - line_start_ + 1, std::move(message)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
  std::size_t dots_ = 0;  // since the key, or whatever it is, began
  std::size_t brackets_ = 0;
};

}  // namespace

std::optional<TooDeep> find_excessive_nesting(std::string_view text) {
  return Scanner(text).scan();
}

}  // namespace hearth::settings
