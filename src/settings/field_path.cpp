#include "settings/field_path.h"

#include "blueprint/cursor.h"
#include "blueprint/json_text.h"

#include <boost/json/value.hpp>

#include <charconv>

namespace hearth::settings {
namespace {

// With its quotes: the text between them is JSON's.
std::string_view take_quoted(blueprint::Cursor& cursor) {
  const std::string_view rest = cursor.rest();
  std::size_t end = 1;
  while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
  return cursor.take(end + 1);
}

FieldStep take_index(blueprint::Cursor& cursor) {
  FieldStep step{.is_index = true};
  const std::string_view digits = cursor.take_while(blueprint::is_ascii_digit);
  std::from_chars(digits.data(), digits.data() + digits.size(), step.index);
  cursor.accept("]");
  return step;
}

}  // namespace

std::vector<FieldStep> steps_of(std::string_view field) {
  std::vector<FieldStep> steps;
  blueprint::Cursor cursor(field);
  while (!cursor.at_end()) {
    cursor.accept(".");
    if (cursor.accept("[")) {
      steps.push_back(take_index(cursor));
    } else if (cursor.peek() == '"') {
      steps.push_back({.key = std::string(blueprint::parse_json(take_quoted(cursor)).as_string())});
    } else {
      const std::string_view key =
          cursor.take_while([](char letter) { return letter != '.' && letter != '['; });
      steps.push_back({.key = std::string(key)});
    }
  }
  return steps;
}

}  // namespace hearth::settings
