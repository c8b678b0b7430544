// bench/transfer_bench.h: files out of a sandbox and into it.
#pragma once

#include "bench/report.h"

namespace hearth::bench {

void measure_transfers(Report& report);

}  // namespace hearth::bench
