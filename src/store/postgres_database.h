// store/postgres_database.h: a store in a Postgres server. One connection, used by one transaction
// at a time, awaited on the loop; made again when it is lost.
#pragma once

#include "async/task.h"
#include "store/database.h"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace hearth::store {

struct PostgresOptions {
  // For a transaction, and for a connection attempt (there at least 2 s): callers get an error
  // after it, they never hang.
  std::chrono::milliseconds time_limit{5000};
  // After a failed attempt to connect callers get its error at once for so long.
  std::chrono::milliseconds retry_after{500};
};

// `url`: as libpq takes it, postgres://... One process owns the tables of a schema, through an
// advisory lock: StoreInUse otherwise. StoreUnavailable if it cannot be reached.
Task<std::unique_ptr<Database>> open_postgres(asio::any_io_executor executor, std::string url,
                                              PostgresOptions options = {});

}  // namespace hearth::store
