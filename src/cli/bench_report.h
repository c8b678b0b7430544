// cli/bench_report.h: a load's result, for people and for programs.
#pragma once

#include "cli/bench_load.h"

#include <string>

namespace hearth::cli {

std::string bench_table(const LoadResult& result);
std::string bench_json(const LoadResult& result);  // one line
// For the last line of a terminal while the load runs.
std::string bench_progress(const LoadResult& so_far);

}  // namespace hearth::cli
