// builder/adopt_tree.h: takes over what confined programs wrote, as files of our own. What they
// wrote is hostile until then: it may hold set-uid files, devices, links to anywhere, and no end.
#pragma once

#include "base/error.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace hearth::builder {

struct AdoptLimits {
  std::uint64_t bytes = std::uint64_t{16} << 30;  // holes count as what they are written as
  std::size_t entries = 2'000'000;
  std::size_t depth = 64;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// There is something that no package may hold; names it by its path in the tree.
struct CannotAdopt : Error {
  using Error::Error;
};

// Copies the tree at `from`, which no process writes to any more, to `to`, which does not exist yet
// and is out of reach for others. Directories become 0755 and files 0644 or 0755; other kinds of
// file are refused, links too. No link is ever followed. CannotAdopt, OsError.
void adopt_tree(const std::filesystem::path& from, const std::filesystem::path& to,
                const AdoptLimits& limits = {});

}  // namespace hearth::builder
