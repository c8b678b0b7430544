// blueprint/encode.h: the structs of fields.h into a tree of values; decode.h reads it back.
#pragma once

#include "blueprint/fields.h"

#include <boost/json/value.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::blueprint {

inline boost::json::value encode(bool value) { return value; }
inline boost::json::value encode(double value) { return value; }
inline boost::json::value encode(std::int64_t value) { return value; }
inline boost::json::value encode(const std::string& value) {
  return boost::json::value(boost::json::string(value));
}

template <NamedEnum Enum>
boost::json::value encode(Enum value) {
  return boost::json::value(boost::json::string(enum_name(value)));
}

template <Described T>
boost::json::value encode(const T& value);

template <typename T>
boost::json::value encode(const std::vector<T>& values) {
  boost::json::array array;
  array.reserve(values.size());
  for (const T& value : values) array.push_back(encode(value));
  return array;
}

template <typename T>
boost::json::value encode(const std::map<std::string, T>& values) {
  boost::json::object object;
  for (const auto& [key, value] : values) object.emplace(key, encode(value));
  return object;
}

template <Described T>
boost::json::value encode(const T& value) {
  boost::json::object object;
  for_each_field(value, [&]<typename Field>(std::string_view name, const Field& field) {
    if constexpr (requires { field.has_value(); }) {
      // What is not set is left out: no null that a reader would have to know.
      if (field.has_value()) object.emplace(name, encode(*field));
    } else {
      object.emplace(name, encode(field));
    }
  });
  return object;
}

}  // namespace hearth::blueprint
