// settings/source_text.h: a configuration's text by lines, and which of them may be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::settings {

// The bytes of the character at the front of `text`, which is not empty and may be no UTF-8.
std::size_t character_size(std::string_view text);

// A part of a line, short enough to be shown.
struct Excerpt {
  std::string text{};      // empty when there is none or it must not be shown
  std::size_t column = 1;  // of the place in `text`, from 1, in characters
};

class SourceText {
 public:
  explicit SourceText(std::string text);

  const std::string& text() const { return text_; }

  // Line `number` around `column` (both from 1) without its end. Empty when there is none or when
  // it stands in a [secrets] section, where a value may have been written.
  Excerpt excerpt(std::size_t number, std::size_t column) const;

 private:
  struct Line {
    std::size_t begin = 0;
    std::size_t size = 0;
    bool hidden = false;
  };
  std::string text_;
  std::vector<Line> lines_;
};

}  // namespace hearth::settings
