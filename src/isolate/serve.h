// isolate/serve.h: what a zygote calls to make sandboxes. Runs between fork and exec in a process
// that was Python: no allocation, no exceptions, libc only.
#pragma once

#include "isolate/sandbox_spec.h"

#include <cstdint>

extern "C" {

// Makes a sandbox, or one more worker for one, for each request (wire/spawn_request.h).
//
// In the zygote it returns only when the host has hung up, with -1. It also returns in each new
// worker once init knows of it: 1 if its first script has already arrived, else 0. The zygote runs
// no line of Python between two requests, so all sandboxes share its memory.
//
// A sandbox's first process becomes init and does not return. If it cannot, it reports why on its
// stream. Why a later worker cannot be made is reported to init, on the worker's emit pipe.
//
// The fields of `spec` that a request contains are filled in from each request.
__attribute__((visibility("default"))) int hearth_serve(std::int32_t control,
                                                        HearthSandboxSpec* spec);
}
