#include "runtime/runtime.h"

#include "async/cleanup.h"
#include "os/trusted_path.h"
#include "runtime/pool_options.h"
#include "runtime/register_settings.h"
#include "runtime/session_options.h"
#include "runtime/state_directory.h"
#include "store/session_store.h"

#include <utility>

namespace hearth::runtime {
namespace {

Task<> started(session::SessionManager& sessions) {
  co_await sessions.init();
  sessions.start_idle_sweep();
}

}  // namespace

std::unique_ptr<Runtime> Runtime::open(const asio::any_io_executor& executor,
                                       settings::Settings settings, settings::Env env,
                                       RuntimeOptions options) {
  return std::unique_ptr<Runtime>(
      new Runtime(executor, std::move(settings), std::move(env), std::move(options)));
}

Runtime::Runtime(const asio::any_io_executor& executor, settings::Settings settings,
                 settings::Env env, RuntimeOptions options)
    : settings_(std::move(settings)),
      env_(std::move(env)),
      registry_(options.registry ? *std::move(options.registry) : register_settings(settings_)),
      backend_(
          open_backend(options.backends, {executor, settings_, env_, registry_, options.programs,
                                          options.limits, options.configuration})),
      pool_(std::make_unique<pool::SandboxPool>(
          executor, registry_, *backend_,
          pool_options(settings_, env_, std::move(options.secrets), options.fleet))),
      executor_(executor),
      clock_(executor),
      sandboxes_(*pool_) {}

Runtime::~Runtime() = default;

Task<session::SessionManager*> Runtime::open_sessions() {
  const std::filesystem::path directory = state_directory(settings_, env_) + "/sessions";
  os::make_private_directory(directory);
  std::unique_ptr<store::Database> database =
      co_await open_database(executor_, settings_.store, directory);
  auto store = std::make_unique<store::SessionStore>(executor_, std::move(database));
  const std::string& snapshots = settings_.session.snapshots_dir;
  sessions_ = std::make_unique<session::SessionManager>(
      executor_, session_options(settings_.session), std::move(store),
      snapshots.empty() ? directory / "snapshots" : std::filesystem::path(snapshots), sandboxes_,
      clock_);
  co_await or_clean_up(started(*sessions_), sessions_->close());
  co_return sessions_.get();
}

Task<> Runtime::close(std::chrono::milliseconds drain) {
  if (sessions_) co_await sessions_->close(drain);
  co_await pool_->shutdown(drain);
}

}  // namespace hearth::runtime
