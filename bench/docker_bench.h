// bench/docker_bench.h: what sandboxes cost that are containers, beside Docker's own commands.
#pragma once

#include "bench/report.h"

namespace hearth::bench {

// Nothing without HEARTH_TEST_DOCKER, the address of an engine (scripts/docker-engine).
void measure_docker(Report& report);

}  // namespace hearth::bench
