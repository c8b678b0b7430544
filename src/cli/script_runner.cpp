#include "cli/script_runner.h"

#include "base/log.h"
#include "base/scope_exit.h"
#include "cli/exit_code.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <utility>

namespace hearth::cli {
namespace {

constexpr std::size_t longest_name = 255;

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

Transfers::Telling telling_of(const RunOptions& options) {
  const bool is_for_people = !options.quiet && options.json == JsonAnswers::none;
  return {.summary = is_for_people, .progress = !options.quiet && ::isatty(STDERR_FILENO) == 1};
}

double seconds(auto duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

ScriptRunner::ScriptRunner(const asio::any_io_executor& executor, const RunPlan& plan,
                           const RunOptions& options, const settings::Env& env, RunOutput& output)
    : plan_(plan),
      options_(options),
      output_(output),
      transfers_(options.transfers, telling_of(options), std::cerr),
      runtime_(runtime::Runtime::open(executor, for_one_lease(plan), env,
                                      {.registry = plan.registry,
                                       .limits = backend::Limits::degraded,
                                       .configuration = plan.configuration})) {}

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

Task<int> ScriptRunner::run_script(Run run) {
  is_cancelled_ = run.is_cancelled;
  pool::Lease lease = co_await checkout();
  co_await transfers_.put(lease);
  const int code = co_await run_in(lease, std::move(run));
  const bool is_whole = co_await transfers_.take(&lease);
  co_return code == exit_code::ok && !is_whole ? exit_code::failure : code;
}

Task<backend::Sandbox*> ScriptRunner::steps_sandbox() {
  if (!shared_) {
    pool::Lease lease = co_await checkout();
    co_await transfers_.put(lease);
    shared_ = std::move(lease);
  }
  co_return &shared_->sandbox();
}

Task<int> ScriptRunner::run_step(Run run) {
  is_cancelled_ = run.is_cancelled;
  co_await steps_sandbox();
  co_return co_await run_in(*shared_, std::move(run));
}

Task<bool> ScriptRunner::take_files() {
  co_return co_await transfers_.take(shared_ ? &*shared_ : nullptr);
}

Task<int> ScriptRunner::run_in(pool::Lease& lease, Run run) {
  if (has_given_up_) throw boost::system::system_error(asio::error::operation_aborted);
  const std::vector<std::string> wanted_files = run.request.return_files;
  co_await api::write_files(lease.files(), run.request.files);
  execution::TurnRequest request = turn_request_for(std::move(run.request), lease);
  const std::filesystem::path file = std::filesystem::path(run.file).filename();
  if (file.extension() == ".py" && file.native().size() <= longest_name) request.name = file;
  api::Execution execution{.id = request.execution_id,
                           .file = std::move(run.file),
                           .sandbox_id = "sb_" + lease.sandbox_id(),
                           .checkout = lease.kind(),
                           .timeout_seconds = seconds(*request.time_limit),
                           .is_step = options_.interactive};
  execution::Turn turn(lease, std::move(request),
                       [this](const wire::Event& event) { output_.event(event); });
  running_ = &turn;
  const ScopeExit is_over([this] { running_ = nullptr; });
  was_interrupted_ = false;
  if (is_cancelled_) co_await turn.cancel();
  execution.queued_seconds = seconds(Clock::now() - run.asked_at);
  output_.started(execution);
  const execution::ExecutionResult result = co_await turn.finished();
  has_left_ = result.called_exit;
  transfers_.keep(result.displays);
  execution.files = co_await files_of_result(lease, wanted_files);
  output_.ended(result, execution);
  // The steps that follow begin anew.
  if (!result.sandbox_usable && shared_ && &*shared_ == &lease) shared_.reset();
  co_return exit_code_of(result);
}

Task<api::FoundFiles> ScriptRunner::files_of_result(pool::Lease& lease,
                                                    std::vector<std::string> wanted) const {
  if (lease.is_over()) co_return api::FoundFiles{};
  try {
    if (options_.interactive)
      co_return co_await api::files_matching(lease.files(), std::move(wanted));
    co_return co_await api::files_left(lease.files());
  } catch (const Error& error) {
    // The verdict counts, also of a script that has made its sandbox unusable.
    log::debug("files of a sandbox could not be listed", {{"error", error.what()}});
    co_return api::FoundFiles{};
  }
}

execution::TurnRequest ScriptRunner::turn_request_for(api::RunRequest request,
                                                      const pool::Lease& lease) const {
  if (!request.timeout_seconds)
    request.timeout_seconds = options_.timeout_seconds.value_or(
        static_cast<double>(lease.binding().limits.execution_timeout_sec));
  execution::TurnRequest turn = api::turn_request_of(std::move(request), lease.binding());
  turn.execution_id = api::new_execution_id();
  if (options_.interactive) turn.mode = blueprint::ExecutionMode::interactive;
  return turn;
}

Task<> ScriptRunner::cancel() {
  is_cancelled_ = true;
  if (running_ == nullptr) co_return;
  try {
    co_await running_->cancel();
  } catch (const Error& error) {
    // It has just ended, and the turn says so.
    log::debug("sandbox could not be asked to end a turn", {{"error", error.what()}});
  }
}

Task<> ScriptRunner::interrupt() {
  if (running_ == nullptr) co_return;
  if (std::exchange(was_interrupted_, true)) {
    running_->kill();
  } else {
    co_await cancel();
  }
}

Task<> ScriptRunner::close() {
  shared_.reset();
  co_await runtime_->close();
}

}  // namespace hearth::cli
