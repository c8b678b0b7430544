// blueprint/path.h: where in a tree of values something stands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::blueprint {

// Links to its parent, which must outlive it: turned into text
// only when there is a problem.
struct Path {
  const Path* parent = nullptr;
  std::string_view key;
  std::size_t index = 0;  // of an element, when `key` is empty and `is_element`
  bool is_element = false;

  Path member(std::string_view name) const { return {this, name, 0, false}; }
  Path element(std::size_t position) const { return {this, {}, position, true}; }
  std::string text() const;
};

}  // namespace hearth::blueprint
