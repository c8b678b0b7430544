#include "blueprint/path.h"

#include "blueprint/problem.h"

namespace hearth::blueprint {

std::string Path::text() const {
  const std::string before = parent == nullptr ? std::string() : parent->text();
  if (is_element) return element_of(before, index);
  return parent == nullptr && key.empty() ? before : member_of(before, key);
}

}  // namespace hearth::blueprint
