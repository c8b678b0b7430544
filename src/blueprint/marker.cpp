#include "blueprint/marker.h"

#include "blueprint/problem.h"
#include "blueprint/requirement.h"
#include "blueprint/version_specifier.h"

#include <algorithm>
#include <array>

namespace hearth::blueprint {
namespace {

// Each parenthesis costs a stack frame; real conditions are not nested that deep.
constexpr int deepest_nesting = 16;

constexpr std::array<std::string_view, 12> variables = {"python_version",
                                                        "python_full_version",
                                                        "os_name",
                                                        "sys_platform",
                                                        "platform_release",
                                                        "platform_system",
                                                        "platform_version",
                                                        "platform_machine",
                                                        "platform_python_implementation",
                                                        "extra",
                                                        "implementation_name",
                                                        "implementation_version"};

bool is_word_letter(char letter) { return is_ascii_alphanumeric(letter) || letter == '_'; }

// Looks for a whole word: `or` is not found in `order`.
bool accept_word(Cursor& cursor, std::string_view word) {
  cursor.skip_blanks();
  Cursor ahead = cursor;
  if (ahead.take_while(is_word_letter) != word) return false;
  cursor = ahead;
  return true;
}

std::string take_string(Cursor& cursor) {
  const char quote = cursor.take(1).front();
  const std::string_view content =
      cursor.take_while([quote](char letter) { return letter != quote; });
  if (cursor.take(1).empty()) throw RequirementError("has a marker with an unfinished string");
  // A text with a double quote inside keeps its single ones; PEP 508 knows no escapes.
  const char canonical = content.find('"') == std::string_view::npos ? '"' : '\'';
  return canonical + std::string(content) + canonical;
}

std::string take_operand(Cursor& cursor) {
  cursor.skip_blanks();
  if (cursor.peek() == '"' || cursor.peek() == '\'') return take_string(cursor);
  const std::string_view at = cursor.rest();
  const std::string_view word = cursor.take_while(is_word_letter);
  if (word.empty())
    throw RequirementError("expects a marker's variable or string at " + in_quotes(at));
  if (std::find(variables.begin(), variables.end(), word) == variables.end())
    throw RequirementError("has a marker with the unknown variable " + in_quotes(word));
  return std::string(word);
}

std::string take_operator(Cursor& cursor) {
  cursor.skip_blanks();
  if (const std::string_view comparison = take_version_operator(cursor); !comparison.empty())
    return std::string(comparison);
  if (accept_word(cursor, "in")) return "in";
  if (accept_word(cursor, "not") && accept_word(cursor, "in")) return "not in";
  throw RequirementError("expects a marker's comparison at " + in_quotes(cursor.rest()));
}

std::string take_alternatives(Cursor& cursor, int depth);

std::string take_condition(Cursor& cursor, int depth) {
  cursor.skip_blanks();
  if (!cursor.accept("(")) {
    const std::string left = take_operand(cursor);
    const std::string comparison = take_operator(cursor);
    return left + ' ' + comparison + ' ' + take_operand(cursor);
  }
  if (depth >= deepest_nesting) throw RequirementError("has a marker nested too deeply");
  const std::string inner = take_alternatives(cursor, depth + 1);
  cursor.skip_blanks();
  if (!cursor.accept(")")) throw RequirementError("has a marker without its closing \")\"");
  return '(' + inner + ')';
}

std::string take_conjunction(Cursor& cursor, int depth) {
  std::string text = take_condition(cursor, depth);
  while (accept_word(cursor, "and")) text += " and " + take_condition(cursor, depth);
  return text;
}

std::string take_alternatives(Cursor& cursor, int depth) {
  std::string text = take_conjunction(cursor, depth);
  while (accept_word(cursor, "or")) text += " or " + take_conjunction(cursor, depth);
  return text;
}

}  // namespace

std::string take_marker(Cursor& cursor) { return take_alternatives(cursor, 0); }

}  // namespace hearth::blueprint
