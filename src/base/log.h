// base/log.h: structured logging to stderr. A record is a sentence and fields; text for people, one
// JSON object a line for machines. Never given a secret's value or a script's text.
#pragma once

#include "base/enum_names.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace hearth::log {

enum class Level { debug, info, warning, error };
constexpr auto names_of(Level /*type*/) {
  return enum_names<Level>({{Level::debug, "debug"},
                            {Level::info, "info"},
                            {Level::warning, "warning"},
                            {Level::error, "error"}});
}

enum class Format { text, json };
constexpr auto names_of(Format /*type*/) {
  return enum_names<Format>({{Format::text, "text"}, {Format::json, "json"}});
}

struct Field {
  template <typename T>
  Field(std::string_view name, const T& content) : key(name), value(fmt::format("{}", content)) {}
  std::string_view key;
  std::string value;
};
using Fields = std::initializer_list<Field>;

// Until this is called: text, warnings and worse.
void configure(Level level, Format format);

void write(Level level, std::string_view message, Fields fields = {});

inline void debug(std::string_view message, Fields fields = {}) {
  write(Level::debug, message, fields);
}
inline void info(std::string_view message, Fields fields = {}) {
  write(Level::info, message, fields);
}
inline void warning(std::string_view message, Fields fields = {}) {
  write(Level::warning, message, fields);
}
inline void error(std::string_view message, Fields fields = {}) {
  write(Level::error, message, fields);
}

// The line `write` would print, without its time stamp: what the tests look at.
std::string render(Format format, Level level, std::string_view message, Fields fields);

}  // namespace hearth::log
