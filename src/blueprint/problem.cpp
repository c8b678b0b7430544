#include "blueprint/problem.h"

#include "base/joined.h"
#include "base/json_escape.h"

#include <algorithm>
#include <utility>

namespace hearth::blueprint {
namespace {

constexpr std::size_t longest_quoted_value = 80;

std::string summary_of(std::string_view subject, const Problems& problems) {
  return std::string(subject) + " is not valid: " +
         joined(problems, "; ", [](const Problem& problem) { return to_string(problem); });
}

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
  });
}

}  // namespace

std::string to_string(const Problem& problem) {
  return problem.field.empty() ? problem.message : problem.field + ' ' + problem.message;
}

ConfigError::ConfigError(std::string_view subject, Problems found)
    : Error(summary_of(subject, found)), problems(std::move(found)) {}

std::string in_quotes(std::string_view value) {
  std::string text;
  const std::string_view head = value.substr(0, longest_quoted_value);
  append_json_string(text, head.substr(0, complete_utf8_prefix(head)));
  if (value.size() > longest_quoted_value) text += "...";
  return text;
}

void append_under(Problems& outer, std::string_view prefix, Problems inner) {
  for (Problem& problem : inner) {
    std::string field(prefix);
    if (!field.empty() && !problem.field.empty() && problem.field.front() != '[') field += '.';
    problem.field = field + problem.field;
    outer.push_back(std::move(problem));
  }
}

std::string element_of(std::string_view list, std::size_t index) {
  return std::string(list) + '[' + std::to_string(index) + ']';
}

std::string member_of(std::string_view object, std::string_view key) {
  std::string path(object);
  if (!path.empty()) path += '.';
  if (is_bare_key(key)) {
    path += key;
  } else {
    append_json_string(path, key);
  }
  return path;
}

}  // namespace hearth::blueprint
