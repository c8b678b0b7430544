#include "cli/script_runner.h"

#include "async/shielded.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "cli/exit_code.h"

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
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
  if (run.on_sandbox) run.on_sandbox(lease.sandbox());
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
  const std::string if_missing = std::move(run.if_missing);
  const bool is_command = !run.request.command.empty() || !run.request.shell.empty();
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
  streams_ = run.streams;
  if (streams_ != nullptr) streams_->describe(request);
  execution::Turn turn(
      lease, std::move(request), [this](const wire::Event& event) { hear(event); },
      streams_ != nullptr ? streams_->on_output() : execution::OnOutput());
  running_ = &turn;
  const ScopeExit is_over([this] { running_ = nullptr; });
  was_interrupted_ = false;
  if (is_cancelled_) co_await turn.cancel();
  execution.queued_seconds = seconds(Clock::now() - run.asked_at);
  output_.started(execution);
  const execution::ExecutionResult result = co_await finished(turn);
  has_left_ = result.called_exit;
  transfers_.keep(result.displays);
  execution.files = co_await files_of_result(lease, wanted_files);
  tell_end(result, execution);
  if (!result.started && result.exit_code == exit_code::not_found && !if_missing.empty())
    std::cerr << "hearth: " << if_missing << '\n';
  // The steps that follow begin anew.
  if (!result.sandbox_usable && shared_ && &*shared_ == &lease) shared_.reset();
  co_return exit_code_after(result, is_command);
}

// The streams use the turn until they are closed.
Task<execution::ExecutionResult> ScriptRunner::finished(execution::Turn& turn) {
  std::exception_ptr failure;
  std::optional<execution::ExecutionResult> result;
  try {
    result = co_await turn.finished();
  } catch (...) {
    failure = std::current_exception();
  }
  if (streams_ != nullptr) {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await shielded(streams_->close());
    co_await asio::this_coro::throw_if_cancelled(true);
  }
  if (failure) std::rethrow_exception(failure);
  co_return *std::move(result);
}

void ScriptRunner::hear(const wire::Event& event) {
  if (streams_ != nullptr) streams_->heard(event, *running_);
  const auto* error = std::get_if<wire::ScriptError>(&event.body);
  const bool is_of_lost_reader = streams_ != nullptr && streams_->lost_reader() &&
                                 error != nullptr && error->name == wire::process_killed;
  if (!is_of_lost_reader) output_.event(event);
}

// As in a shell, a command whose reader has gone (`| head`) ends without a word.
void ScriptRunner::tell_end(const execution::ExecutionResult& result,
                            const api::Execution& execution) {
  const bool has_lost_reader =
      streams_ != nullptr && streams_->lost_reader() && result.signal == SIGPIPE;
  if (!has_lost_reader) output_.ended(result, execution);
}

int ScriptRunner::exit_code_after(const execution::ExecutionResult& result, bool is_command) const {
  const int code = is_command ? exit_code_of_command(result) : exit_code_of(result);
  if (streams_ == nullptr || !streams_->lost_output()) return code;
  std::cerr << "hearth: standard output cannot be written to: " << streams_->failure() << '\n';
  return code == exit_code::ok ? exit_code::failure : code;
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
  if (options_.without_time_limit && !options_.timeout_seconds)
    turn.time_limit = std::chrono::milliseconds(0);
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
  if (streams_ != nullptr) streams_->hurry();
  if (std::exchange(was_interrupted_, true)) {
    if (streams_ != nullptr) streams_->abandon_output();
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
