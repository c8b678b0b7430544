// settings/field_path.h: a field's path, as problems name it, taken apart again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::settings {

struct FieldStep {
  std::string key{};
  std::size_t index = 0;
  bool is_index = false;
};

// `a."b.c"[2]` is a, b.c, 2. Reads what blueprint's member_of and element_of write.
std::vector<FieldStep> steps_of(std::string_view field);

}  // namespace hearth::settings
