// bench/native_bench.h: what sandboxes of the native backend cost.
#pragma once

#include "bench/report.h"

namespace hearth::bench {

void measure_native(Report& report);

// To its end: the same namespaces, mounts of the same kinds; what it runs does nothing.
void run_bwrap_python();

}  // namespace hearth::bench
