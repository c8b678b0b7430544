// blueprint/cursor.h: walks over a short text from left to right, for the hand-written parsers of
// this module.
#pragma once

#include <cstddef>
#include <string_view>

namespace hearth::blueprint {

constexpr bool is_ascii_digit(char letter) { return letter >= '0' && letter <= '9'; }
constexpr bool is_ascii_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
constexpr bool is_ascii_alphanumeric(char letter) {
  return is_ascii_digit(letter) || is_ascii_letter(letter);
}

class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  bool accept(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  template <typename Predicate>
  std::string_view take_while(Predicate matches) {
    std::size_t size = 0;
    while (size < rest_.size() && matches(rest_[size])) ++size;
    return take(size);
  }

  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  void skip_blanks() {
    take_while([](char letter) { return letter == ' ' || letter == '\t'; });
  }

 private:
  std::string_view rest_;
};

}  // namespace hearth::blueprint
