// base/id.h: names for things that must never be confused, also across restarts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

// 128 random bits as 32 hexadecimal digits.
std::string random_id();
// Whether `text` is so many digits of the kind that random_id() has.
bool is_hexadecimal(std::string_view text, std::size_t digits);

// From 0 to one less than `bound`, which must not be 0.
std::uint32_t random_number_below(std::uint32_t bound);

}  // namespace hearth
