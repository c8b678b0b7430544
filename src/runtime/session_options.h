// runtime/session_options.h: what the settings say of sessions and their store, in the words of
// those modules.
#pragma once

#include "async/task.h"
#include "session/session_types.h"
#include "settings/settings.h"
#include "store/database.h"

#include <boost/asio/any_io_executor.hpp>

#include <filesystem>
#include <memory>

namespace hearth::runtime {

session::SessionOptions session_options(const settings::SessionSettings& settings);

// The one place that knows which stores there are. A file goes into `directory`.
Task<std::unique_ptr<store::Database>> open_database(asio::any_io_executor executor,
                                                     settings::StoreSettings settings,
                                                     std::filesystem::path directory);

}  // namespace hearth::runtime
