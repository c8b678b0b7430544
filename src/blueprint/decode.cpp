#include "blueprint/decode.h"

#include "base/joined.h"

#include <algorithm>

namespace hearth::blueprint {
namespace {

namespace json = boost::json;

}  // namespace

std::string_view kind_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "an integer";
    case json::kind::double_:
      return "a number with a fraction";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "a table";
  }
  return "something else";
}

void Decoder::note_kind(const json::value& value, const Path& path, std::string_view expected) {
  std::string advice = advice_.on_kind ? advice_.on_kind(value, path, expected) : std::string();
  note(path, "must be " + std::string(expected) + ", is " + std::string(kind_of(value)) + advice);
}

void Decoder::read(const json::value& value, const Path& path, bool& out) {
  if (const bool* boolean = value.if_bool()) {
    out = *boolean;
  } else {
    note_kind(value, path, "true or false");
  }
}

void Decoder::read(const json::value& value, const Path& path, double& out) {
  if (const double* number = value.if_double()) {
    out = *number;
  } else if (const std::int64_t* integer = value.if_int64()) {
    out = static_cast<double>(*integer);
  } else {
    note_kind(value, path, "a number");
  }
}

void Decoder::read(const json::value& value, const Path& path, std::int64_t& out) {
  if (const std::int64_t* integer = value.if_int64()) {
    out = *integer;
  } else if (value.is_uint64()) {
    note(path, "is larger than any integer that is allowed");
  } else {
    note_kind(value, path, "an integer");
  }
}

void Decoder::read(const json::value& value, const Path& path, std::string& out) {
  if (const json::string* text = value.if_string()) {
    out.assign(text->data(), text->size());
  } else {
    note_kind(value, path, "a string");
  }
}

void Decoder::note_unknown_keys(const json::object& object, const Path& path,
                                const std::vector<std::string>& known) {
  for (const auto& member : object) {
    const std::string_view key = member.key();
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string advice =
        advice_.on_key ? advice_.on_key(path.member(key), known) : suggestion(key, known);
    note(path.member(key), "is not a known key" + advice, true);
  }
}

void Decoder::note_choice(const Path& path, const std::string& text,
                          const std::vector<std::string>& known) {
  note(path, "must be one of " + joined(known, ", ") + ", is " + in_quotes(text) +
                 suggestion(text, known));
}

}  // namespace hearth::blueprint
