#include "api/request_fields.h"

#include "base/base64.h"
#include "base/enum_names.h"
#include "base/language.h"
#include "wire/file_path.h"
#include "wire/protocol_error.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace hearth::api {
namespace {

using wire::JsonKind;
using wire::JsonMember;

// A string with at least one character: an empty one is most likely a mistake.
void read_text(const FieldReading& field, std::string& into) {
  if (!field.is(JsonKind::string, "a string")) return;
  into = field.member.text;
  if (into.empty()) field.refuse("must not be empty");
}

// False if they were refused.
bool read_strings(const FieldReading& field, std::vector<std::string>& into) {
  constexpr std::string_view in_words = "an array of strings";
  if (!field.is(JsonKind::array, in_words)) return false;
  try {
    into = wire::parse_string_array(field.member.text);
    return true;
  } catch (const wire::ProtocolError&) {
    field.refuse(fmt::format("must be {}", in_words));
    return false;
  }
}

// Permissions in octal, as people write them.
std::optional<std::uint32_t> parse_mode(std::string_view text) {
  std::uint32_t mode = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, mode, 8);
  if (parsed.ec != std::errc() || parsed.ptr != end || mode > 0777) return std::nullopt;
  return mode;
}

void read_code(const FieldReading& field) {
  if (field.is(JsonKind::string, "a string")) field.request.code = field.member.text;
}

void read_command(const FieldReading& field) {
  const std::vector<std::string>& command = field.request.command;
  if (read_strings(field, field.request.command) && (command.empty() || command.front().empty()))
    field.refuse("must begin with a program");
}

void read_language(const FieldReading& field) {
  read_text(field, field.request.language);
  if (!field.request.language.empty() && find_language(field.request.language) == nullptr)
    field.refuse(fmt::format("must be one of {}", language_names()));
}

void read_timeout(const FieldReading& field) {
  if (!field.is(JsonKind::number, "a number")) return;
  const std::string& text = field.member.text;
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double year = 31'536'000;
  if (!(value > 0 && value <= year)) return field.refuse("must be more than 0 and at most a year");
  field.request.timeout_seconds = value;
}

void read_env(const FieldReading& field) {
  if (!field.is(JsonKind::object, "an object")) return;
  for (JsonMember& entry : wire::parse_object(field.member.text, wire::any_number)) {
    if (entry.kind != JsonKind::string) {
      field.problems.push_back({blueprint::member_of("env", entry.key), "must be a string"});
    } else {
      field.request.env[entry.key] = std::move(entry.text);
    }
  }
}

constexpr std::string_view new_file_in_words =
    "must be an object with text or base64, and a mode like \"0644\" if you like";

// Nothing if it is not one.
std::optional<NewFile> new_file(const JsonMember& member) {
  NewFile file;
  bool has_content = false;
  if (member.kind != JsonKind::object) return std::nullopt;
  for (JsonMember& part : wire::parse_object(member.text)) {
    if (part.kind != JsonKind::string) return std::nullopt;
    if (part.key == "mode") {
      file.mode = parse_mode(part.text);
      if (!file.mode) return std::nullopt;
    } else if ((part.key == "text" || part.key == "base64") && !has_content) {
      has_content = true;
      std::optional<std::string> content =
          part.key == "text" ? std::move(part.text) : decode_base64(part.text);
      if (!content) return std::nullopt;
      file.content = std::move(*content);
    } else {
      return std::nullopt;
    }
  }
  return has_content ? std::optional(std::move(file)) : std::nullopt;
}

void read_files(const FieldReading& field) {
  if (!field.is(JsonKind::object, "an object")) return;
  for (const JsonMember& entry : wire::parse_object(field.member.text, wire::any_number)) {
    std::optional<NewFile> file = new_file(entry);
    std::string problem = file ? "" : std::string(new_file_in_words);
    if (const std::string wrong = wire::problem_of_file_path(entry.key); !wrong.empty())
      problem = "names a path that " + wrong;
    if (!problem.empty())
      field.problems.push_back({blueprint::member_of("files", entry.key), problem});
    else
      field.request.files[entry.key] = std::move(*file);
  }
}

void read_return_files(const FieldReading& field) {
  std::vector<std::string>& patterns = field.request.return_files;
  if (!read_strings(field, patterns)) return;
  for (const std::string& pattern : patterns)
    if (pattern.starts_with('/') || !wire::problem_of_file_path(pattern).empty())
      return field.refuse(
          "must have paths below /workspace, without . and ..; * and ? match names");
}

void read_output(const FieldReading& field) {
  if (!field.is(JsonKind::string, "a string")) return;
  field.request.output = enum_value<blueprint::OutputMode>(field.member.text);
  if (!field.request.output) field.refuse("must be \"fail\" or \"truncate\"");
}

constexpr std::array fields{
    RequestField{"code", read_code},
    RequestField{"command", read_command},
    RequestField{"shell", [](const FieldReading& field) { read_text(field, field.request.shell); }},
    RequestField{"language", read_language},
    RequestField{"args",
                 [](const FieldReading& field) { read_strings(field, field.request.args); }},
    RequestField{"cwd",
                 [](const FieldReading& field) { read_text(field, field.request.directory); }},
    RequestField{"files", read_files},
    RequestField{"return_files", read_return_files},
    RequestField{"timeout_seconds", read_timeout},
    RequestField{"env", read_env},
    RequestField{"output", read_output}};

}  // namespace

void FieldReading::refuse(std::string message) const {
  problems.push_back({member.key, std::move(message)});
}

bool FieldReading::is(JsonKind kind, std::string_view in_words) const {
  if (member.kind == kind) return true;
  refuse(fmt::format("must be {}", in_words));
  return false;
}

std::span<const RequestField> request_fields() { return fields; }

}  // namespace hearth::api
