// docker/json_path.h: values inside what an engine says, which may have any shape.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace hearth::docker {

// The names of members, from the outermost to the one that is meant.
using JsonPath = std::initializer_list<std::string_view>;

// A null where there is none, at any step.
const boost::json::value& at(const boost::json::value& value, JsonPath path);
// Empty, or 0, where it is of another kind.
std::string text_at(const boost::json::value& value, JsonPath path);
std::uint64_t number_at(const boost::json::value& value, JsonPath path);

}  // namespace hearth::docker
