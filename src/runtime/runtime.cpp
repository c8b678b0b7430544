#include "runtime/runtime.h"

#include "runtime/pool_options.h"
#include "runtime/register_settings.h"

#include <utility>

namespace hearth::runtime {

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
      backend_(open_backend(options.backends, {executor, settings_, env_, registry_,
                                               options.programs, options.limits})),
      pool_(std::make_unique<pool::SandboxPool>(
          executor, registry_, *backend_,
          pool_options(settings_, env_, std::move(options.secrets), options.fleet))) {}

Runtime::~Runtime() = default;

Task<> Runtime::close(std::chrono::milliseconds drain) { co_await pool_->shutdown(drain); }

}  // namespace hearth::runtime
