// base/joined.h: several words as one text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace hearth {

// `text_of` makes a text of each item.
template <typename Items, typename TextOf = std::identity>
std::string joined(const Items& items, std::string_view separator, TextOf text_of = {}) {
  std::string text;
  std::string_view between;
  for (const auto& item : items) {
    text += between;
    text += std::invoke(text_of, item);
    between = separator;
  }
  return text;
}

}  // namespace hearth
