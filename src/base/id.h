// base/id.h: names for things that must never be confused, also across restarts.
#pragma once

#include <cstdint>
#include <string>

namespace hearth {

// 128 random bits as 32 hexadecimal digits.
std::string random_id();

// From 0 to one less than `bound`, which must not be 0.
std::uint32_t random_number_below(std::uint32_t bound);

}  // namespace hearth
