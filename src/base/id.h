// base/id.h: names for things that must never be confused, also across restarts.
#pragma once

#include <string>

namespace hearth {

// 128 random bits as 32 hexadecimal digits.
std::string random_id();

}  // namespace hearth
