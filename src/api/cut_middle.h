// api/cut_middle.h: a text with its middle left out, at line ends where there are some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::api {

struct Cut {
  std::string text;
  std::uint64_t left_out_bytes = 0;
};

// The first 60% of what fits into `max_bytes`, a line that says how much is left out and then
// `hint`, and the last 40%. Only that line if nothing else fits.
Cut cut_middle(std::string_view text, std::size_t max_bytes, std::string_view hint = {});

}  // namespace hearth::api
