// base/language.h: the languages of scripts. One table: a line in it is all that another one needs.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth {

struct Language {
  std::string_view name;
  std::string_view file_ending;  // of scripts: ".sh"
  // The interpreter and its first arguments, which find the script on descriptor 3; the script's
  // arguments follow. Empty for Python, whose scripts run in the harness.
  std::span<const char* const> interpreter;
  std::string_view package;  // of Debian, that has the interpreter
};

std::span<const Language> languages();
// Null if there is none of that name.
const Language* find_language(std::string_view name);
// Of a script with this file name; null if its ending says nothing.
const Language* language_of_file(std::string_view name);
std::string language_names();  // "python, bash, javascript"

}  // namespace hearth
