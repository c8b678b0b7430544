// settings/advice.h: what to write instead of a key or value that hearth.toml cannot have.
#pragma once

#include "blueprint/decode.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::settings {

// For a Decoder. Values are never repeated, apart from numbers: a secret may be among them.
blueprint::Advice advice_for_toml();

// "256M" for a key that ends in _mb is 256, "2 min" for one that ends in _sec is 120.
std::optional<std::int64_t> quantity(std::string_view key, std::string_view text);

}  // namespace hearth::settings
