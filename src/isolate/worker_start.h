// isolate/worker_start.h: what a worker does before its first line of Python. In Python it would
// copy memory pages that no script needs. In containers the harness does the same in Python.
#pragma once

#include "isolate/spawn.h"

namespace hearth::isolate {

// After Python's fork handler. Takes its descriptors, reports itself to init and starts its memory
// holder. True if its first script has already arrived.
bool start_worker(NewWorker worker);

}  // namespace hearth::isolate
