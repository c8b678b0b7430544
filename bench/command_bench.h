// bench/command_bench.h: the shortest command in a sandbox that is warm.
#pragma once

#include "bench/report.h"

namespace hearth::bench {

void measure_commands(Report& report);

}  // namespace hearth::bench
