// blueprint/decode.h: a tree of values (from JSON or TOML) into the structs of fields.h. Strict: an
// unknown key and a value of the wrong type are problems; all are noted, none stops the reading.
#pragma once

#include "base/nearest.h"
#include "blueprint/fields.h"
#include "blueprint/path.h"
#include "blueprint/problem.h"

#include <boost/json/value.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::blueprint {

// "an integer", "a table", ...: what stands where something else was expected.
std::string_view kind_of(const boost::json::value& value);

class Decoder;

// A type that says itself how it is read, by a function decode_value in its namespace.
template <typename T>
concept DecodesItself =
    requires(Decoder& decoder, const boost::json::value& value, const Path& path, T& out) {
      decode_value(decoder, value, path, out);
    };

// What the author of a file is told to write instead. Both answers are read after the problem and
// may be empty.
struct Advice {
  std::function<std::string(const Path& key, const std::vector<std::string>& known)> on_key{};
  std::function<std::string(const boost::json::value& value, const Path& path,
                            std::string_view expected)>
      on_kind{};
};

inline constexpr std::string_view list_of_tables = "a list of tables";

class Decoder {
 public:
  // Without advice, the nearest known key is suggested.
  explicit Decoder(Advice advice = {}) : advice_(std::move(advice)) {}

  Problems& problems() { return problems_; }

  void note(const Path& path, std::string message, bool about_key = false) {
    problems_.push_back({path.text(), std::move(message), about_key});
  }

  void read(const boost::json::value& value, const Path& path, bool& out);
  void read(const boost::json::value& value, const Path& path, double& out);
  void read(const boost::json::value& value, const Path& path, std::int64_t& out);
  void read(const boost::json::value& value, const Path& path, std::string& out);

  template <typename T>
  void read(const boost::json::value& value, const Path& path, std::optional<T>& out) {
    read(value, path, out.emplace());
  }

  template <typename T>
  void read(const boost::json::value& value, const Path& path, std::vector<T>& out) {
    out.clear();
    const boost::json::array* array = value.if_array();
    if (array == nullptr) return note_kind(value, path, Described<T> ? list_of_tables : "a list");
    out.reserve(array->size());
    for (std::size_t index = 0; index < array->size(); ++index)
      read((*array)[index], path.element(index), out.emplace_back());
  }

  template <typename T>
  void read(const boost::json::value& value, const Path& path, std::map<std::string, T>& out) {
    out.clear();
    const boost::json::object* object = value.if_object();
    if (object == nullptr) return note_kind(value, path, "a table");
    for (const auto& member : *object)
      read(member.value(), path.member(member.key()), out[std::string(member.key())]);
  }

  template <NamedEnum Enum>
  void read(const boost::json::value& value, const Path& path, Enum& out) {
    std::string text;
    if (!value.is_string()) return note_kind(value, path, "a string");
    read(value, path, text);
    if (const std::optional<Enum> named = enum_value<Enum>(text)) {
      out = *named;
      return;
    }
    const auto names = names_of(Enum{});
    note_choice(path, text, std::vector<std::string>(names.begin(), names.end()));
  }

  template <DecodesItself T>
  void read(const boost::json::value& value, const Path& path, T& out) {
    decode_value(*this, value, path, out);
  }

  template <Described T>
    requires(!DecodesItself<T>)
  void read(const boost::json::value& value, const Path& path, T& out) {
    const boost::json::object* object = value.if_object();
    if (object == nullptr) return note_kind(value, path, "a table");
    std::vector<std::string> known;
    for_each_field(out, [&](std::string_view name, auto& field) {
      known.emplace_back(name);
      if (const boost::json::value* found = object->if_contains(name))
        read(*found, path.member(name), field);
    });
    note_unknown_keys(*object, path, known);
  }

  void note_kind(const boost::json::value& value, const Path& path, std::string_view expected);
  void note_unknown_keys(const boost::json::object& object, const Path& path,
                         const std::vector<std::string>& known);

 private:
  void note_choice(const Path& path, const std::string& text,
                   const std::vector<std::string>& known);

  Advice advice_;
  Problems problems_;
};

}  // namespace hearth::blueprint
