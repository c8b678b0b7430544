#include "blueprint/version_specifier.h"

#include "blueprint/problem.h"
#include "blueprint/requirement.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace hearth::blueprint {
namespace {

// Longer ones first: `===` also begins with `==`.
constexpr std::array<std::string_view, 8> operators = {
    "===", "<=", ">=", "!=", "==", "~=", "<", ">"};

std::string_view take_digits(Cursor& cursor) { return cursor.take_while(is_ascii_digit); }

std::size_t take_release(Cursor& cursor) {
  std::size_t parts = take_digits(cursor).empty() ? 0 : 1;
  while (parts > 0 && cursor.rest().size() > 1 && cursor.peek() == '.' &&
         is_ascii_digit(cursor.rest()[1])) {
    cursor.take(1);
    take_digits(cursor);
    ++parts;
  }
  return parts;
}

bool accept_separator(Cursor& cursor) {
  return cursor.accept(".") || cursor.accept("-") || cursor.accept("_");
}

// `.post1`, `-rc.2`, `dev`: a separator, one of the words, perhaps a separator and a number.
bool accept_phase(Cursor& cursor, std::initializer_list<std::string_view> words) {
  Cursor ahead = cursor;
  accept_separator(ahead);
  if (!std::any_of(words.begin(), words.end(),
                   [&](std::string_view word) { return ahead.accept(word); }))
    return false;
  cursor = ahead;
  if (accept_separator(ahead) && is_ascii_digit(ahead.peek())) cursor = ahead;
  take_digits(cursor);
  return true;
}

void accept_post_release(Cursor& cursor) {
  Cursor ahead = cursor;
  if (ahead.accept("-") && is_ascii_digit(ahead.peek())) {
    take_digits(ahead);
    cursor = ahead;
    return;
  }
  accept_phase(cursor, {"post", "rev", "r"});
}

bool take_local_version(Cursor& cursor) {
  do {
    if (cursor.take_while(is_ascii_alphanumeric).empty()) return false;
  } while (accept_separator(cursor));
  return true;
}

struct VersionShape {
  bool valid = false;
  bool wildcard = false;
  bool local = false;
  std::size_t release_parts = 0;
};

VersionShape shape_of(std::string_view lower_case_version) {
  VersionShape shape;
  Cursor cursor(lower_case_version);
  cursor.accept("v");
  Cursor ahead = cursor;
  if (!take_digits(ahead).empty() && ahead.accept("!")) cursor = ahead;
  shape.release_parts = take_release(cursor);
  if (shape.release_parts == 0) return shape;
  if (cursor.rest() == ".*") {
    shape.valid = shape.wildcard = true;
    return shape;
  }
  accept_phase(cursor, {"alpha", "a", "beta", "b", "preview", "pre", "c", "rc"});
  accept_post_release(cursor);
  accept_phase(cursor, {"dev"});
  shape.local = cursor.accept("+");
  shape.valid = (!shape.local || take_local_version(cursor)) && cursor.at_end();
  return shape;
}

void check_version(std::string_view comparison, const std::string& version) {
  const std::string clause = std::string(comparison) + version;
  const VersionShape shape = shape_of(version);
  if (!shape.valid)
    throw RequirementError("has " + in_quotes(clause) + ", which is no version of PEP 440");
  const bool equality = comparison == "==" || comparison == "!=";
  if (shape.wildcard && !equality)
    throw RequirementError("has " + in_quotes(clause) +
                           " with \".*\", which only == and != may have");
  if (shape.local && !equality)
    throw RequirementError("has " + in_quotes(clause) +
                           " with a local version, which only == and != may have");
  if (comparison == "~=" && shape.release_parts < 2)
    throw RequirementError("has " + in_quotes(clause) +
                           ", which needs at least two numbers, like ~=1.4");
}

}  // namespace

std::string_view take_version_operator(Cursor& cursor) {
  for (const std::string_view candidate : operators) {
    if (cursor.accept(candidate)) return candidate;
  }
  return {};
}

std::string take_version_clause(Cursor& cursor) {
  const std::string_view comparison = take_version_operator(cursor);
  if (comparison.empty())
    throw RequirementError("expects a version comparison at " + in_quotes(cursor.rest()));
  cursor.skip_blanks();
  std::string version(cursor.take_while([](char letter) {
    return letter > ' ' && letter < '\x7f' && letter != ',' && letter != ';' && letter != ')';
  }));
  if (version.empty()) throw RequirementError("has no version after " + in_quotes(comparison));
  std::transform(version.begin(), version.end(), version.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  // `===` compares texts, so anything may follow it.
  if (comparison != "===") check_version(comparison, version);
  return std::string(comparison) + version;
}

}  // namespace hearth::blueprint
