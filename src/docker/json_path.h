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
// Ids of containers and networks, and of images (with "sha256:"). Empty where it is something else:
// an id becomes part of paths and decides which processes are killed.
std::string id_at(const boost::json::value& value, JsonPath path);
std::string image_id_at(const boost::json::value& value, JsonPath path);

}  // namespace hearth::docker
