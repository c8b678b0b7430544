// bench/pool_bench.h: what a pool adds to its sandboxes, and how many it can hand out.
#pragma once

#include "bench/report.h"

namespace hearth::bench {

void measure_pool(Report& report);

}  // namespace hearth::bench
