#include "wire/json_object.h"

#include "base/json_escape.h"
#include "wire/protocol_error.h"

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace hearth::wire {
namespace {

namespace json = boost::json;

// The harness allows a payload 200 levels; the rest is room for the events around it.
constexpr std::size_t max_depth = 256;

// Follows the parser's callbacks and writes what is `keep_depth` or more levels inside as canonical
// text; what is above that becomes members. 1 takes an object or an array apart, 0 keeps the whole
// as one text.
class MemberCollector {
 public:
  MemberCollector(std::size_t keep_depth, std::size_t max_members)
      : keep_depth_(keep_depth), max_members_(max_members) {}

  std::vector<JsonMember> members;
  JsonKind top_kind = JsonKind::null;

  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  bool on_object_begin(json::error_code&) { return open('{', JsonKind::object); }
  bool on_object_end(std::size_t, json::error_code&) { return close('}'); }
  bool on_array_begin(json::error_code&) { return open('[', JsonKind::array); }
  bool on_array_end(std::size_t, json::error_code&) { return close(']'); }

  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    string_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    string_.append(part.data(), part.size());
    if (depth_ <= keep_depth_) {
      key_ = std::exchange(string_, {});
      return true;
    }
    separate();
    append_json_string(members.back().text, string_);
    members.back().text += ':';
    string_.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
    string_.append(part.data(), part.size());
    return true;
  }
  bool on_string(json::string_view part, std::size_t, json::error_code&) {
    string_.append(part.data(), part.size());
    std::string text = std::exchange(string_, {});
    if (!begin_value(JsonKind::string)) return true;
    if (depth_ == keep_depth_ && keep_depth_ > 0) {
      members.back().text = std::move(text);
    } else {
      append_json_string(members.back().text, text);
    }
    return true;
  }
  bool on_number_part(json::string_view part, json::error_code&) {
    string_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t, json::string_view rest, json::error_code&) { return number(rest); }
  bool on_uint64(std::uint64_t, json::string_view rest, json::error_code&) { return number(rest); }
  bool on_double(double, json::string_view rest, json::error_code&) { return number(rest); }
  bool on_bool(bool value, json::error_code&) {
    return scalar(JsonKind::boolean, value ? "true" : "false");
  }
  bool on_null(json::error_code&) { return scalar(JsonKind::null, "null"); }

 private:
  bool open(char bracket, JsonKind kind) {
    if (depth_ >= keep_depth_) {
      begin_value(kind);
      members.back().text += bracket;
    } else {
      top_kind = kind;
    }
    ++depth_;
    return true;
  }
  bool close(char bracket) {
    --depth_;
    if (depth_ >= keep_depth_) members.back().text += bracket;
    return true;
  }
  bool number(json::string_view rest) {
    string_.append(rest.data(), rest.size());
    scalar(JsonKind::number, string_);
    string_.clear();
    return true;
  }
  bool scalar(JsonKind kind, std::string_view text) {
    if (begin_value(kind)) members.back().text += text;
    return true;
  }
  // A new member at the depth that is taken apart, otherwise the next element of what is kept as
  // text. False for a lone scalar where something to take apart was expected.
  bool begin_value(JsonKind kind) {
    if (depth_ == 0) top_kind = kind;
    if (depth_ < keep_depth_) return false;
    if (depth_ == keep_depth_) {
      if (members.size() == max_members_) throw ProtocolError("too many members");
      members.push_back({std::exchange(key_, {}), kind, {}});
    } else {
      separate();
    }
    return true;
  }
  void separate() {
    const std::string& text = members.back().text;
    const char last = text.back();
    if (last != '[' && last != '{' && last != ':') members.back().text += ',';
  }

  std::size_t keep_depth_;
  std::size_t max_members_;
  std::size_t depth_ = 0;
  std::string key_;
  std::string string_;  // of the string, key or number being read, which may come in parts
};

MemberCollector parse(std::string_view text, std::size_t keep_depth, std::size_t max_members) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<MemberCollector> parser(options, keep_depth, max_members);
  json::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && used != text.size()) error = json::make_error_code(json::error::extra_data);
  if (error)
    throw ProtocolError("not valid JSON at byte " + std::to_string(used) + ": " + error.message());
  MemberCollector found = std::move(parser.handler());
  return found;
}

// Sorted, not pairwise: an environment may have thousands of names, and may be hostile.
void refuse_repeated_keys(const std::vector<JsonMember>& members) {
  std::vector<std::string_view> keys(members.size());
  std::transform(members.begin(), members.end(), keys.begin(),
                 [](const JsonMember& member) { return std::string_view(member.key); });
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end())
    throw ProtocolError("the key \"" + std::string(*twice) + "\" stands twice");
}

// An object of nothing but strings as encode() writes it. Nearly all that a script says is in such
// lines, and the parser reads a string with escapes byte by byte.
std::optional<std::vector<JsonMember>> parse_strings(std::string_view text,
                                                     std::size_t max_members) {
  std::vector<JsonMember> members;
  for (char before = '{'; text.starts_with(before); before = ',') {
    text.remove_prefix(1);
    std::optional<std::string> key = take_json_string(text);
    if (!key || !text.starts_with(':')) return std::nullopt;
    text.remove_prefix(1);
    std::optional<std::string> value = take_json_string(text);
    if (!value || members.size() == max_members) return std::nullopt;
    members.push_back({std::move(*key), JsonKind::string, std::move(*value)});
  }
  if (text != "}" || members.empty()) return std::nullopt;
  return members;
}

}  // namespace

std::vector<JsonMember> parse_object(std::string_view text, std::size_t max_members) {
  if (std::optional<std::vector<JsonMember>> strings = parse_strings(text, max_members)) {
    refuse_repeated_keys(*strings);
    return std::move(*strings);
  }
  MemberCollector found = parse(text, 1, max_members);
  if (found.top_kind != JsonKind::object) throw ProtocolError("not a JSON object");
  refuse_repeated_keys(found.members);
  return std::move(found.members);
}

std::vector<JsonMember> parse_array(std::string_view text, std::size_t max_elements) {
  MemberCollector found = parse(text, 1, max_elements);
  if (found.top_kind != JsonKind::array) throw ProtocolError("not a JSON array");
  return std::move(found.members);
}

std::vector<std::string> parse_string_array(std::string_view text) {
  std::vector<std::string> strings;
  for (JsonMember& member : parse_array(text, any_number)) {
    if (member.kind != JsonKind::string) throw ProtocolError("an element is not a string");
    strings.push_back(std::move(member.text));
  }
  return strings;
}

}  // namespace hearth::wire
