// blueprint/json_text.h: JSON text in and out, where Boost.JSON 1.81 is too lenient or loses
// something: it keeps the last of two equal keys, is an ulp off for some decimals and prints 0.5 as
// 5E-1.
#pragma once

#include "base/error.h"

#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::blueprint {

struct JsonError : Error {
  JsonError(const std::string& what, std::size_t at_line, std::size_t at_column);
  std::size_t line;
  std::size_t column;
};

// Refuses a repeated key, more than 32 levels, a number beyond a double's range.
boost::json::value parse_json(std::string_view text);

// Two blanks per level, short lists on one line; ends without a line break.
std::string print_json(const boost::json::value& value);

// The shortest decimal that reads back as the same number; not for infinities.
std::string print_number(double number);

}  // namespace hearth::blueprint
