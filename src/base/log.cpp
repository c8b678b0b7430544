#include "base/log.h"

#include "base/json_escape.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace hearth::log {
namespace {

struct Logger {
  std::shared_ptr<spdlog::logger> sink = spdlog::stderr_logger_mt("hearth");
  Format format = Format::text;

  Logger() {
    sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %v");
    sink->set_level(spdlog::level::warn);
  }
};

Logger& logger() {
  static Logger instance;
  return instance;
}

spdlog::level::level_enum native(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// A value with a blank, a quote or a control character is quoted, so that a line stays one line and
// fields stay apart.
void append_text_value(std::string& out, std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of(" \"=\\") == std::string_view::npos &&
                     value.find_first_of("\n\r\t") == std::string_view::npos;
  if (plain) {
    out += value;
  } else {
    append_json_string(out, value);
  }
}

std::string render_text(Level level, std::string_view message, Fields fields) {
  std::string line = fmt::format("{:<7} {}", enum_name(level), message);
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_text_value(line, field.value);
  }
  return line;
}

std::string render_json(Level level, std::string_view message, Fields fields) {
  std::string line = fmt::format(R"("level":"{}","message":)", enum_name(level));
  append_json_string(line, message);
  for (const Field& field : fields) {
    line += ',';
    append_json_string(line, field.key);
    line += ':';
    append_json_string(line, field.value);
  }
  return line;
}

}  // namespace

std::string render(Format format, Level level, std::string_view message, Fields fields) {
  if (format == Format::text) return render_text(level, message, fields);
  return '{' + render_json(level, message, fields) + '}';
}

void configure(Level level, Format format) {
  Logger& target = logger();
  target.format = format;
  target.sink->set_level(native(level));
  target.sink->set_pattern(format == Format::text ? "%Y-%m-%dT%H:%M:%S.%e%z %v"
                                                  : R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z",%v})");
}

void write(Level level, std::string_view message, Fields fields) {
  Logger& target = logger();
  if (!target.sink->should_log(native(level))) return;
  target.sink->log(native(level), target.format == Format::text
                                      ? render_text(level, message, fields)
                                      : render_json(level, message, fields));
}

}  // namespace hearth::log
