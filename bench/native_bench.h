// bench/native_bench.h: what sandboxes of the native backend cost.
#pragma once

#include "bench/report.h"

namespace hearth::bench {

void measure_native(Report& report);

}  // namespace hearth::bench
