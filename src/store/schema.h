// store/schema.h: the tables, in the versions they went through. Both databases understand all of
// it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace hearth::store {

// The statements that lead from one version to the next; the first makes version 1. What was
// released is never changed: a change is one more migration.
using Migration = std::vector<std::string_view>;
std::span<const Migration> migrations();

// The order of eviction, as SQL: what the index holds and what the query asks for must be the same.
#define HEARTH_EVICTION_TIER \
  "(CASE state WHEN 'cold' THEN 0 WHEN 'warm' THEN 1 WHEN 'waiting' THEN 2 END)"

}  // namespace hearth::store
