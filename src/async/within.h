// async/within.h: time limits for tasks.
#pragma once

#include "async/event.h"
#include "async/task.h"
#include "base/error.h"

#include <chrono>

namespace hearth {

struct DeadlineExceeded : Error {
  using Error::Error;
};

// When the limit passes, `work` is cancelled and then waited for, so none of it is running once the
// caller has its answer. Work that finished in the very moment wins: it may own something by now.
// What `work` throws is thrown here. Results go where `work` puts them: what it gathered before the
// limit is often worth keeping.
Task<> within(std::chrono::nanoseconds limit, Task<> work);

// Both, until one of them ends: then the other is cancelled and waited for. What the first throws
// is thrown here. The second may have ended in the very moment; what it throws then is dropped.
Task<> first_of(Task<> one, Task<> other);

// The same as within(), until the next notification of `bell` instead of a limit. Then only what
// `work` throws tells that it was cancelled.
Task<> until(AsyncEvent& bell, Task<> work);

}  // namespace hearth
