#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace hearth {
namespace {

// About every third letter may be wrong; more than that is another word, and so is one with no
// letter in common.
std::size_t tolerated_slips(std::string_view wanted) {
  return wanted.size() < 2 ? 0 : std::clamp<std::size_t>(wanted.size() / 3, 1, 4);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower;
}

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> current(to.size() + 1);
  for (std::size_t column = 0; column <= to.size(); ++column) last[column] = column;
  for (std::size_t row = 1; row <= from.size(); ++row) {
    current[0] = row;
    for (std::size_t column = 1; column <= to.size(); ++column) {
      const std::size_t replaced = last[column - 1] + (from[row - 1] == to[column - 1] ? 0 : 1);
      current[column] = std::min({last[column] + 1, current[column - 1] + 1, replaced});
      const bool swapped = row > 1 && column > 1 && from[row - 1] == to[column - 2] &&
                           from[row - 2] == to[column - 1];
      if (swapped) current[column] = std::min(current[column], before_last[column - 2] + 1);
    }
    before_last.swap(last);
    last.swap(current);
  }
  return last[to.size()];
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  const std::string wanted = lower_case(name);
  std::optional<std::string> best;
  std::size_t best_distance = tolerated_slips(wanted) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t shorter = std::min(wanted.size(), candidate.size());
    const std::size_t longer = std::max(wanted.size(), candidate.size());
    // The distance is at least the difference in length: long strangers cost nothing.
    if (longer - shorter >= best_distance) continue;
    const std::size_t distance = edit_distance(wanted, lower_case(candidate));
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view wanted, std::span<const std::string> candidates) {
  const std::optional<std::string> meant = nearest(wanted, candidates);
  return meant ? "; did you mean \"" + *meant + "\"?" : std::string();
}

}  // namespace hearth
