// store/errors.h: why a store did not do what was asked.
#pragma once

#include "base/error.h"

namespace hearth::store {

// The database cannot be reached or refused the work. What was asked may or may not have happened;
// asking again later is safe.
struct StoreUnavailable : Error {
  using Error::Error;
};

// Another Hearth process owns the store.
struct StoreInUse : Error {
  using Error::Error;
};

// A newer Hearth made it.
struct StoreTooNew : Error {
  using Error::Error;
};

// The row has a newer generation than the write, or is gone: the writer does not know the latest.
struct StaleWrite : Error {
  using Error::Error;
};

}  // namespace hearth::store
