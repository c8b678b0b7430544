#include "wire/member_reader.h"

#include "base/json_escape.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace hearth::wire {
namespace {

std::string_view name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::string:
      return "a string";
    case JsonKind::number:
      return "a number";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::null:
      return "null";
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
  }
  return "?";
}

std::string quoted(std::string_view key) { return '"' + std::string(key) + '"'; }

template <typename Number>
Number parse_number(std::string_view key, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw ProtocolError(quoted(key) + " is out of range: " + std::string(text.substr(0, 40)));
  return value;
}

}  // namespace

bool MemberReader::has(std::string_view key) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const JsonMember& member) { return member.key == key; });
}

std::optional<JsonMember> MemberReader::take(std::string_view key) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const JsonMember& member) { return member.key == key; });
  if (found == members_.end()) return std::nullopt;
  JsonMember member = std::move(*found);
  if (found != members_.end() - 1) *found = std::move(members_.back());
  members_.pop_back();
  return member;
}

JsonMember MemberReader::require(std::string_view key) {
  std::optional<JsonMember> member = take(key);
  if (!member) throw ProtocolError(quoted(key) + " is missing");
  return std::move(*member);
}

JsonMember MemberReader::require(std::string_view key, JsonKind kind) {
  JsonMember member = require(key);
  if (member.kind != kind)
    throw ProtocolError(quoted(key) + " must be " + std::string(name_of(kind)) + ", is " +
                        std::string(name_of(member.kind)));
  return member;
}

std::string MemberReader::string(std::string_view key) {
  return require(key, JsonKind::string).text;
}

std::string MemberReader::json(std::string_view key) {
  JsonMember member = require(key);
  if (member.kind != JsonKind::string) return std::move(member.text);
  std::string text;
  append_json_string(text, member.text);
  return text;
}

std::string MemberReader::json(std::string_view key, JsonKind kind) {
  return require(key, kind).text;
}

std::optional<std::string> MemberReader::optional_json(std::string_view key, JsonKind kind) {
  const auto has_key = [key](const JsonMember& member) { return member.key == key; };
  if (std::none_of(members_.begin(), members_.end(), has_key)) return std::nullopt;
  return json(key, kind);
}

bool MemberReader::boolean(std::string_view key) {
  return require(key, JsonKind::boolean).text == "true";
}

double MemberReader::number(std::string_view key) {
  const auto value = parse_number<double>(key, require(key, JsonKind::number).text);
  if (!std::isfinite(value)) throw ProtocolError(quoted(key) + " is out of range");
  return value;
}

std::uint64_t MemberReader::count(std::string_view key) {
  return parse_number<std::uint64_t>(key, require(key, JsonKind::number).text);
}

std::optional<std::uint64_t> MemberReader::optional_count(std::string_view key) {
  if (!has(key)) return std::nullopt;
  return count(key);
}

std::optional<std::int64_t> MemberReader::optional_integer(std::string_view key) {
  const std::optional<JsonMember> member = take(key);
  if (!member) return std::nullopt;
  if (member->kind != JsonKind::number) throw ProtocolError(quoted(key) + " must be a number");
  return parse_number<std::int64_t>(key, member->text);
}

std::string MemberReader::optional_string(std::string_view key) {
  return string_if_any(key).value_or(std::string());
}

std::optional<std::string> MemberReader::string_if_any(std::string_view key) {
  std::optional<JsonMember> member = take(key);
  if (!member) return std::nullopt;
  if (member->kind != JsonKind::string) throw ProtocolError(quoted(key) + " must be a string");
  return std::move(member->text);
}

bool MemberReader::optional_boolean(std::string_view key) {
  const std::optional<JsonMember> member = take(key);
  if (!member) return false;
  if (member->kind != JsonKind::boolean) throw ProtocolError(quoted(key) + " must be a boolean");
  return member->text == "true";
}

void MemberReader::finish() const {
  if (!members_.empty()) throw ProtocolError("unknown member " + quoted(members_.front().key));
}

}  // namespace hearth::wire
