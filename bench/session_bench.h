// bench/session_bench.h: what sessions cost beside the sandboxes they live in.
#pragma once

#include "bench/report.h"

namespace hearth::bench {

void measure_sessions(Report& report);

}  // namespace hearth::bench
