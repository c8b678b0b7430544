// cli/script_runner.h: the scripts and steps of `hearth run`, each a turn in a leased sandbox like
// those of every other caller.
#pragma once

#include "api/run_request.h"
#include "async/task.h"
#include "cli/run_output.h"
#include "cli/run_plan.h"
#include "cli/standard_streams.h"
#include "cli/transfers.h"
#include "execution/turn.h"
#include "runtime/runtime.h"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace hearth::cli {

class ScriptRunner {
 public:
  using Clock = std::chrono::steady_clock;

  struct Run {
    api::RunRequest request{};
    std::string file{};                  // empty: none of several
    StandardStreams* streams = nullptr;  // of a command: it has ours. They must outlive the run
    std::string if_missing{};            // of a command: told if there is no such program
    // In a sandbox of its own: called with it before the start.
    std::function<void(const backend::Sandbox&)> on_sandbox{};
    Clock::time_point asked_at = Clock::now();
    bool is_cancelled = false;  // before it began
  };

  // What is referred to must outlive it.
  ScriptRunner(const asio::any_io_executor& executor, const RunPlan& plan,
               const RunOptions& options, const settings::Env& env, RunOutput& output);

  // Builds the environment; `on_progress` gets the log of that.
  Task<> open(pool::SandboxPool::OnProgress on_progress);
  // One script or command in a sandbox of its own. Returns the exit code.
  Task<int> run_script(Run run);
  // Makes the sandbox that all steps share, if there is none. Valid until the next call.
  Task<backend::Sandbox*> steps_sandbox();
  // One step in it.
  Task<int> run_step(Run run);
  // After the last step: what is to come out of that sandbox. False if not all of it did.
  Task<bool> take_files();
  const blueprint::SandboxConfig& blueprint() const {
    return plan_.registry.blueprint(plan_.blueprint);
  }
  bool is_running() const { return running_ != nullptr; }
  // Whether the last turn ended with sys.exit().
  bool has_left() const { return has_left_; }
  // Nothing more is run. While a sandbox is being forked a cancellation would be lost.
  void give_up() { has_given_up_ = true; }
  // Asks the turn that runs, or is about to, to end.
  Task<> cancel();
  // The same; the second time, kills it.
  Task<> interrupt();
  Task<> close();

 private:
  Task<pool::Lease> checkout();
  // `lease` must outlive the task.
  Task<int> run_in(pool::Lease& lease, Run run);
  Task<execution::ExecutionResult> finished(execution::Turn& turn);
  void hear(const wire::Event& event);
  void tell_end(const execution::ExecutionResult& result, const api::Execution& execution);
  int exit_code_after(const execution::ExecutionResult& result, bool is_command) const;
  // For the result: in a session those that the request wants, else all that are left.
  Task<api::FoundFiles> files_of_result(pool::Lease& lease, std::vector<std::string> wanted) const;
  execution::TurnRequest turn_request_for(api::RunRequest request, const pool::Lease& lease) const;

  const RunPlan& plan_;
  const RunOptions& options_;
  RunOutput& output_;
  Transfers transfers_;
  std::unique_ptr<runtime::Runtime> runtime_;
  std::optional<pool::Lease> shared_;  // of the steps
  execution::Turn* running_ = nullptr;
  StandardStreams* streams_ = nullptr;  // of the turn that runs
  bool is_cancelled_ = false;           // what is about to run
  bool was_interrupted_ = false;
  bool has_left_ = false;
  bool has_given_up_ = false;
};

}  // namespace hearth::cli
