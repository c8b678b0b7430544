// store/sqlite_database.h: a store in one file. One thread writes and reads; the loop awaits it.
#pragma once

#include "async/task.h"
#include "store/database.h"

#include <boost/asio/any_io_executor.hpp>

#include <filesystem>
#include <memory>

namespace hearth::store {

// Creates the file (0600) where there is none, in a directory that is there. One process owns it:
// StoreInUse otherwise. StoreUnavailable if it is no database or cannot be opened.
Task<std::unique_ptr<Database>> open_sqlite(std::filesystem::path file);

}  // namespace hearth::store
