// base/joined.h: several words as one text.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

template <typename Words>
std::string joined(const Words& words, std::string_view separator) {
  std::string text;
  std::string_view between;
  for (const auto& word : words) {
    text += between;
    text += word;
    between = separator;
  }
  return text;
}

}  // namespace hearth
