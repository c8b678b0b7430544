#include "runtime/session_options.h"

#include "store/postgres_database.h"
#include "store/sqlite_database.h"

#include <chrono>
#include <utility>

namespace hearth::runtime {

session::SessionOptions session_options(const settings::SessionSettings& settings) {
  session::SessionOptions options;
  options.max_sandboxes = static_cast<std::size_t>(settings.max_sandboxes);
  options.max_live = static_cast<std::size_t>(settings.max_live);
  options.idle_timeout = std::chrono::milliseconds(settings.idle_timeout_ms);
  options.sweep_interval = std::chrono::milliseconds(settings.sweep_interval_ms);
  options.gone_for = std::chrono::seconds(settings.gone_for_sec);
  options.snapshots.max_bytes = static_cast<std::uint64_t>(settings.max_snapshot_mb) << 20;
  options.snapshots.max_entries = static_cast<std::uint64_t>(settings.max_snapshot_files);
  return options;
}

Task<std::unique_ptr<store::Database>> open_database(asio::any_io_executor executor,
                                                     settings::StoreSettings settings,
                                                     std::filesystem::path directory) {
  if (settings.url.empty()) co_return co_await store::open_sqlite(directory / "sessions.db");
  const store::PostgresOptions options{.time_limit =
                                           std::chrono::milliseconds(settings.time_limit_ms)};
  co_return co_await store::open_postgres(std::move(executor), std::move(settings.url), options);
}

}  // namespace hearth::runtime
