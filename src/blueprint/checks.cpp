#include "blueprint/checks.h"

#include "blueprint/cursor.h"
#include "blueprint/python_names.h"
#include "blueprint/requirement.h"

#include <algorithm>
#include <unordered_set>

namespace hearth::blueprint {
namespace {

constexpr std::size_t longest_environment_name = 255;

std::string problem_of_secret_name(const std::string& name) {
  if (!is_environment_name(name) || name.size() > longest_environment_name)
    return "is " + in_quotes(name) +
           ", which is no name of an environment variable (letters, digits and \"_\", not a digit "
           "first)";
  if (is_owned_by_runtime(name))
    return "is " + in_quotes(name) +
           ", which the runtime sets itself; PATH, HOME, *_PROXY, LD_*, PYTHON*, HEARTH_* and the "
           "like are not allowed";
  return {};
}

}  // namespace

void check_range(Problems& problems, std::string_view field, std::int64_t value,
                 std::int64_t lowest, std::int64_t highest) {
  const std::string is = ", is " + std::to_string(value);
  if (value < lowest)
    problems.push_back({std::string(field), "must be at least " + std::to_string(lowest) + is});
  if (value > highest)
    problems.push_back({std::string(field), "must be at most " + std::to_string(highest) + is});
}

void check_ports(Problems& problems, const std::string& field,
                 const std::vector<std::int64_t>& ports) {
  if (ports.empty())
    problems.push_back({field, "lists no port; leave it out for the default port"});
  for (std::size_t index = 0; index < ports.size(); ++index)
    check_range(problems, element_of(field, index), ports[index], 1, 65'535);
}

void check_blueprint_name(Problems& problems, const std::string& field, std::string_view name) {
  if (name.empty()) {
    problems.push_back({field, "is missing; every sandbox needs a name"});
    return;
  }
  const auto lower_or_digit = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || is_ascii_digit(letter);
  };
  const bool matches =
      name.size() <= 63 && lower_or_digit(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char letter) {
        return lower_or_digit(letter) || letter == '_' || letter == '.' || letter == '-';
      });
  if (!matches) {
    problems.push_back({field, "must match [a-z0-9][a-z0-9_.-]{0,62}, is " + in_quotes(name)});
  } else if (!is_image_path(name)) {
    problems.push_back({field,
                        "must end with a letter or digit and have one \".\", one or two \"_\", or "
                        "\"-\" between others, as images are named after it; is " +
                            in_quotes(name)});
  }
}

bool is_image_path(std::string_view path) {
  const auto is_plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || is_ascii_digit(letter);
  };
  Cursor cursor(path);
  while (true) {
    if (cursor.take_while(is_plain).empty()) return false;
    if (cursor.at_end()) return true;
    const std::string_view separator =
        cursor.take_while([&](char letter) { return !is_plain(letter); });
    const bool is_known = separator == "." || separator == "_" || separator == "__" ||
                          separator == "/" || separator.find_first_not_of('-') == separator.npos;
    if (!is_known) return false;
  }
}

void check_requirements(Problems& problems, std::string_view field,
                        const std::vector<std::string>& requirements) {
  for (std::size_t index = 0; index < requirements.size(); ++index) {
    try {
      parse_requirement(requirements[index]);
    } catch (const RequirementError& error) {
      const std::string shown = error.confidential
                                    ? "holds a requirement that "
                                    : "is " + in_quotes(requirements[index]) + ", which ";
      problems.push_back({.field = element_of(field, index),
                          .message = shown + error.what(),
                          .confidential = error.confidential});
    }
  }
}

void check_secret_names(Problems& problems, std::string_view field,
                        const std::vector<std::string>& names) {
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (std::string message = problem_of_secret_name(names[index]); !message.empty())
      problems.push_back({element_of(field, index), std::move(message)});
  }
  check_no_duplicates(problems, field, names);
}

void check_no_duplicates(Problems& problems, std::string_view field,
                         const std::vector<std::string>& values) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (!seen.insert(values[index]).second)
      problems.push_back({element_of(field, index), "repeats " + in_quotes(values[index])});
  }
}

}  // namespace hearth::blueprint
