#include "blueprint/requirement.h"

#include "blueprint/cursor.h"
#include "blueprint/marker.h"
#include "blueprint/problem.h"
#include "blueprint/version_specifier.h"

#include <algorithm>

namespace hearth::blueprint {
namespace {

constexpr std::size_t longest_requirement = 2000;

void sort_unique(std::vector<std::string>& texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

// PEP 503: lower case, and one `-` for every run of `-`, `_` and `.`.
std::string normalised_name(std::string_view name) {
  std::string normalised;
  for (const char letter : name) {
    if (letter == '-' || letter == '_' || letter == '.') {
      if (normalised.back() != '-') normalised += '-';
    } else {
      normalised += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
  }
  return normalised;
}

std::string take_name(Cursor& cursor, std::string_view what) {
  const std::string_view name = cursor.take_while([](char letter) {
    return is_ascii_alphanumeric(letter) || letter == '-' || letter == '_' || letter == '.';
  });
  if (name.empty() || !is_ascii_alphanumeric(name.front()) || !is_ascii_alphanumeric(name.back()))
    throw RequirementError(
        "does not have " + std::string(what) +
        " of letters, digits, \"-\", \"_\" and \".\" that begins and ends with a "
        "letter or digit");
  return normalised_name(name);
}

std::vector<std::string> take_extras(Cursor& cursor) {
  std::vector<std::string> extras;
  cursor.skip_blanks();
  if (cursor.accept("]")) return extras;
  while (true) {
    cursor.skip_blanks();
    extras.push_back(take_name(cursor, "an extra"));
    cursor.skip_blanks();
    if (cursor.accept("]")) break;
    if (!cursor.accept(",")) throw RequirementError("expects \"]\" at " + in_quotes(cursor.rest()));
  }
  sort_unique(extras);
  return extras;
}

std::vector<std::string> take_specifiers(Cursor& cursor) {
  std::vector<std::string> specifiers;
  const bool parenthesised = cursor.accept("(");
  do {
    cursor.skip_blanks();
    specifiers.push_back(take_version_clause(cursor));
    cursor.skip_blanks();
  } while (cursor.accept(","));
  if (parenthesised && !cursor.accept(")"))
    throw RequirementError("expects \")\" at " + in_quotes(cursor.rest()));
  sort_unique(specifiers);
  return specifiers;
}

// A name alone, as of `git+ssh://git@host`, is no secret; anything over http would be one.
bool has_credentials(std::string_view scheme, std::string_view after_scheme) {
  if (!after_scheme.starts_with("//")) return false;
  after_scheme.remove_prefix(2);
  const std::string_view authority = after_scheme.substr(0, after_scheme.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return false;
  return !scheme.ends_with("ssh") || authority.substr(0, at).find(':') != std::string_view::npos;
}

std::string take_url(Cursor& cursor) {
  cursor.skip_blanks();
  const std::string_view url =
      cursor.take_while([](char letter) { return letter > ' ' && letter < '\x7f'; });
  Cursor parts(url);
  const std::string_view scheme = parts.take_while([](char letter) {
    return is_ascii_alphanumeric(letter) || letter == '+' || letter == '-' || letter == '.';
  });
  if (scheme.empty() || !is_ascii_letter(scheme.front()) || !parts.accept(":") || parts.at_end())
    throw RequirementError("has no URL after \"@\"");
  if (has_credentials(scheme, parts.rest()))
    throw RequirementError("has credentials in its URL, which every sandbox could read", true);
  return std::string(url);
}

void check_text(std::string_view text) {
  if (text.size() > longest_requirement) throw RequirementError("is longer than 2000 bytes");
  if (text.starts_with('-'))
    throw RequirementError("is an option of pip; only requirements are allowed");
  if (text.find("${") != std::string_view::npos)
    throw RequirementError("holds \"${\", where pip would put a variable of the environment");
  const bool printable = std::all_of(text.begin(), text.end(), [](char letter) {
    return letter == '\t' || (letter >= ' ' && letter <= '~');
  });
  if (!printable)
    throw RequirementError("holds a line break, a control character or a letter beyond ASCII");
}

}  // namespace

Requirement parse_requirement(std::string_view text) {
  check_text(text);
  Requirement requirement;
  Cursor cursor(text);
  cursor.skip_blanks();
  requirement.name = take_name(cursor, "a name");
  cursor.skip_blanks();
  if (cursor.accept("[")) requirement.extras = take_extras(cursor);
  cursor.skip_blanks();
  if (cursor.accept("@")) {
    requirement.url = take_url(cursor);
  } else if (!cursor.at_end() && cursor.peek() != ';') {
    requirement.specifiers = take_specifiers(cursor);
  }
  cursor.skip_blanks();
  if (cursor.accept(";")) requirement.marker = take_marker(cursor);
  cursor.skip_blanks();
  if (!cursor.at_end())
    throw RequirementError("does not make sense from " + in_quotes(cursor.rest()));
  return requirement;
}

std::string canonical_text(const Requirement& requirement) {
  std::string text = requirement.name;
  const auto append_list = [&](const std::vector<std::string>& items) {
    for (std::size_t index = 0; index < items.size(); ++index) {
      if (index > 0) text += ',';
      text += items[index];
    }
  };
  if (!requirement.extras.empty()) {
    text += '[';
    append_list(requirement.extras);
    text += ']';
  }
  append_list(requirement.specifiers);
  if (!requirement.url.empty()) text += " @ " + requirement.url;
  if (!requirement.marker.empty()) text += " ; " + requirement.marker;
  return text;
}

std::vector<std::string> canonical_requirements(const std::vector<std::string>& requirements) {
  std::vector<std::string> canonical;
  canonical.reserve(requirements.size());
  for (const std::string& text : requirements)
    canonical.push_back(canonical_text(parse_requirement(text)));
  sort_unique(canonical);
  return canonical;
}

}  // namespace hearth::blueprint
