#include "cli/run_session.h"

#include "base/log.h"
#include "cli/local_setup.h"
#include "execution/turn.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace hearth::cli {
RunSession::RunSession(asio::any_io_executor executor, const RunPlan& plan,
                       const RunOptions& options, settings::Env environment, RunOutput& output)
    : executor_(std::move(executor)),
      plan_(plan),
      options_(options),
      environment_(std::move(environment)),
      output_(output) {}

RunSession::~RunSession() = default;

// Whom an interrupt is for, however its run ends.
class RunSession::Running {
 public:
  Running(RunSession& session, execution::ScriptExecutor& executor, backend::Sandbox& sandbox)
      : session_(session) {
    session_.running_ = &executor;
    session_.running_in_ = &sandbox;
  }
  ~Running() {
    session_.running_ = nullptr;
    session_.running_in_ = nullptr;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  RunSession& session_;
};

Task<> RunSession::open(OnLine on_build_line) {
  backend_ = open_backend(executor_, plan_, environment_, options_.allow_degraded);
  source_ =
      co_await backend_.sources->open(plan_.blueprint, mounts_of(plan_), std::move(on_build_line));
}

Task<int> RunSession::run_script(std::string script, const std::string& name) {
  const std::unique_ptr<backend::Sandbox> sandbox = co_await source_->spawn();
  co_return co_await run_in(*sandbox, std::move(script), name);
}

Task<int> RunSession::run_step(std::string script) {
  if (!shared_) shared_ = co_await source_->spawn();
  const std::string no_name;
  co_return co_await run_in(*shared_, std::move(script), no_name);
}

Task<int> RunSession::run_in(backend::Sandbox& sandbox, std::string script,
                             const std::string& name) {
  if (has_given_up_) throw boost::system::system_error(asio::error::operation_aborted);
  execution::ScriptExecutor executor(sandbox);
  const Running running(*this, executor, sandbox);
  interrupted_ = was_killed_ = false;
  const auto on_event = [this](const wire::Event& event) { output_.event(event); };
  execution::ExecutionResult result =
      co_await executor.run(request_for(std::move(script)), on_event);
  if (was_killed_ && result.verdict == execution::Verdict::lost) {
    result.verdict = execution::Verdict::cancelled;
    result.detail.clear();
  }
  output_.verdict(result, name);
  // The steps that follow begin anew.
  if (!result.sandbox_usable && shared_.get() == &sandbox) shared_.reset();
  co_return exit_code_of(result);
}

wire::RunRequest RunSession::request_for(std::string script) const {
  const blueprint::SandboxConfig& config = plan_.registry.blueprint(plan_.blueprint);
  wire::RunRequest request;
  request.script = std::move(script);
  request.timeout_seconds = options_.timeout_seconds.value_or(
      static_cast<double>(config.resource_limits.execution_timeout_sec));
  request.max_output_bytes = static_cast<std::uint64_t>(config.resource_limits.max_output_bytes);
  const bool steps =
      options_.interactive || config.execution_mode == blueprint::ExecutionMode::interactive;
  request.mode = steps ? wire::Mode::interactive : wire::Mode::plan;
  for (const auto& [name, secret] : secret_values(plan_, environment_))
    request.env[name] = secret.reveal();
  for (const auto& [key, value] : options_.env) request.env[key] = value;
  request.secrets = plan_.registry.secret_names_of(plan_.blueprint);
  return request;
}

Task<> RunSession::interrupt() {
  if (running_ == nullptr) co_return;
  if (std::exchange(interrupted_, true)) {
    was_killed_ = true;
    running_in_->kill();
  } else {
    try {
      co_await running_->cancel();
    } catch (const Error& error) {
      // It has just ended, and the turn says so.
      log::debug("a sandbox could not be asked to end", {{"error", error.what()}});
    }
  }
}

Task<> RunSession::close() {
  shared_.reset();
  if (source_) co_await source_->close();
}

}  // namespace hearth::cli
