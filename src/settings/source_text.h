// settings/source_text.h: a configuration's text by lines, and which of them may be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::settings {

class SourceText {
 public:
  explicit SourceText(std::string text);

  const std::string& text() const { return text_; }

  // Line `number` (from 1) without its end; empty when there is none or when it stands in a
  // [secrets] section, where somebody may have written a value.
  std::string showable_line(std::size_t number) const;

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
