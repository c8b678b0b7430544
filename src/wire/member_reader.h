// wire/member_reader.h: takes the members of one object by name and kind; what is left over at the
// end is unknown and refused.
#pragma once

#include "wire/json_object.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::wire {

class MemberReader {
 public:
  explicit MemberReader(std::string_view text) : members_(parse_object(text)) {}

  bool has(std::string_view key) const;
  std::string string(std::string_view key);
  std::string json(std::string_view key);  // any kind, as canonical text
  std::string json(std::string_view key, JsonKind kind);
  std::optional<std::string> optional_json(std::string_view key, JsonKind kind);
  bool boolean(std::string_view key);
  double number(std::string_view key);  // finite
  std::uint64_t count(std::string_view key);
  std::optional<std::uint64_t> optional_count(std::string_view key);
  std::optional<std::int64_t> optional_integer(std::string_view key);
  std::string optional_string(std::string_view key);  // empty when absent
  bool optional_boolean(std::string_view key);        // false when absent
  std::optional<std::string> string_if_any(std::string_view key);

  // Throws ProtocolError if a member was not asked for.
  void finish() const;

 private:
  std::optional<JsonMember> take(std::string_view key);
  JsonMember require(std::string_view key);
  JsonMember require(std::string_view key, JsonKind kind);

  std::vector<JsonMember> members_;
};

}  // namespace hearth::wire
