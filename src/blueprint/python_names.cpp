#include "blueprint/python_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace hearth::blueprint {
namespace {

constexpr std::array<std::string_view, 35> keywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

// A proxy's address is what the runtime tells a sandbox; libraries look for both spellings.
constexpr std::array<std::string_view, 10> owned_names = {
    "PATH",        "HOME",      "USER",     "TMPDIR",    "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "ENV"};
constexpr std::array<std::string_view, 4> owned_prefixes = {"LD_", "PYTHON", "HEARTH_", "BASH_"};

bool is_word_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}

bool is_word(std::string_view text) {
  return !text.empty() && is_word_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char letter) {
           return is_word_letter(letter) || (letter >= '0' && letter <= '9');
         });
}

}  // namespace

bool is_python_identifier(std::string_view text) {
  return is_word(text) && std::find(keywords.begin(), keywords.end(), text) == keywords.end();
}

bool is_module_name(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_python_identifier(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_environment_name(std::string_view text) { return is_word(text); }

bool is_owned_by_runtime(std::string_view environment_name) {
  std::string upper(environment_name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const std::string_view name = upper;
  return std::find(owned_names.begin(), owned_names.end(), name) != owned_names.end() ||
         std::any_of(owned_prefixes.begin(), owned_prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace hearth::blueprint
