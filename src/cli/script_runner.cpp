#include "cli/script_runner.h"

#include "base/log.h"
#include "base/scope_exit.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <utility>

namespace hearth::cli {
namespace {

// One sandbox at a time, made when it is needed, for one lease. The blueprint's memory is all the
// pool has to give: no other lease competes for it.
settings::Settings for_one_lease(const RunPlan& plan) {
  settings::Settings settings = plan.settings;
  settings.pool.max_overflow = 1;
  settings.pool.max_uses = 1;
  settings.pool.memory_budget_mb =
      plan.registry.blueprint(plan.blueprint).resource_limits.memory_mb;
  return settings;
}

}  // namespace

ScriptRunner::ScriptRunner(const asio::any_io_executor& executor, const RunPlan& plan,
                           const RunOptions& options, const settings::Env& env, RunOutput& output)
    : plan_(plan),
      options_(options),
      output_(output),
      runtime_(runtime::Runtime::open(
          executor, for_one_lease(plan), env,
          {.registry = plan.registry, .limits = native::Limits::degraded})) {}

Task<> ScriptRunner::open(pool::SandboxPool::OnProgress on_progress) {
  co_await runtime_->pool().startup({plan_.blueprint}, std::move(on_progress));
}

Task<pool::Lease> ScriptRunner::checkout() {
  pool::CheckoutOptions options;
  options.owner = "local";
  options.env = options_.env;
  options.patience = std::chrono::hours(1);  // spawning has limits of its own
  co_return co_await runtime_->pool().checkout(plan_.blueprint, std::move(options));
}

Task<int> ScriptRunner::run_script(std::string script, const std::string& name) {
  pool::Lease lease = co_await checkout();
  co_return co_await run_in(lease, std::move(script), name);
}

Task<int> ScriptRunner::run_step(std::string script) {
  if (!shared_) shared_ = co_await checkout();
  const std::string no_name;
  co_return co_await run_in(*shared_, std::move(script), no_name);
}

Task<int> ScriptRunner::run_in(pool::Lease& lease, std::string script, const std::string& name) {
  if (has_given_up_) throw boost::system::system_error(asio::error::operation_aborted);
  execution::Turn turn(lease, request_for(std::move(script)),
                       [this](const wire::Event& event) { output_.event(event); });
  running_ = &turn;
  const ScopeExit is_over([this] { running_ = nullptr; });
  was_interrupted_ = false;
  const execution::ExecutionResult result = co_await turn.finished();
  output_.verdict(result, name);
  // The steps that follow begin anew.
  if (!result.sandbox_usable && shared_ && &*shared_ == &lease) shared_.reset();
  co_return exit_code_of(result);
}

execution::TurnRequest ScriptRunner::request_for(std::string script) const {
  execution::TurnRequest request{.script = std::move(script)};
  if (options_.interactive) request.mode = blueprint::ExecutionMode::interactive;
  if (options_.timeout_seconds)
    request.time_limit = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>(*options_.timeout_seconds));
  return request;
}

Task<> ScriptRunner::interrupt() {
  if (running_ == nullptr) co_return;
  if (std::exchange(was_interrupted_, true)) {
    running_->kill();
  } else {
    try {
      co_await running_->cancel();
    } catch (const Error& error) {
      // It has just ended, and the turn says so.
      log::debug("sandbox could not be asked to end a turn", {{"error", error.what()}});
    }
  }
}

Task<> ScriptRunner::close() {
  shared_.reset();
  co_await runtime_->close();
}

}  // namespace hearth::cli
