// api/media_type.h: what a file is, by the ending of its name, and how a file of a type is named.
#pragma once

#include <string_view>

namespace hearth::api {

// "image/png" of "out/a.PNG"; application/octet-stream of what is not known.
std::string_view media_type_of(std::string_view path);
// ".png" of "image/png"; empty if it is not known.
std::string_view ending_of(std::string_view media_type);

}  // namespace hearth::api
