#include "api/object_writer.h"

#include "base/json_escape.h"

#include <array>
#include <charconv>
#include <cmath>

namespace hearth::api {

void ObjectWriter::begin(std::string_view key) {
  if (!is_first_) out_ += ',';
  is_first_ = false;
  append_json_string(out_, key);
  out_ += ':';
}

void ObjectWriter::text(std::string_view key, std::string_view value) {
  begin(key);
  append_json_string(out_, value);
}

void ObjectWriter::json(std::string_view key, std::string_view value) {
  begin(key);
  out_ += value;
}

void ObjectWriter::seconds(std::string_view key, double value) {
  std::array<char, 32> digits{};
  const double rounded = std::round(value * 1e6) / 1e6;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), rounded).ptr;
  json(key, {digits.data(), end});
}

}  // namespace hearth::api
