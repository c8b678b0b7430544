// base/nearest.h: the name that was probably meant by one that does not exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

// How many letters must be inserted, deleted, replaced or swapped with their neighbour to turn one
// word into the other (Damerau-Levenshtein, each place edited once).
std::size_t edit_distance(std::string_view from, std::string_view to);

// The candidate with the smallest distance, if that is small enough to be a slip of the hand.
// Capital letters are not counted as one.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

// `; did you mean "x"?`, or nothing: for the end of a message.
std::string suggestion(std::string_view wanted, std::span<const std::string> candidates);

}  // namespace hearth
