// cli/script_runner.h: the scripts and steps of `hearth run`, each a turn in a leased sandbox like
// those of every other caller.
#pragma once

#include "async/task.h"
#include "cli/run_output.h"
#include "cli/run_plan.h"
#include "execution/turn.h"
#include "runtime/runtime.h"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <optional>
#include <string>

namespace hearth::cli {

class ScriptRunner {
 public:
  // What is referred to must outlive it.
  ScriptRunner(const asio::any_io_executor& executor, const RunPlan& plan,
               const RunOptions& options, const settings::Env& env, RunOutput& output);

  // Builds the environment; `on_progress` gets the log of that.
  Task<> open(pool::SandboxPool::OnProgress on_progress);
  // One script in a sandbox of its own. Returns the exit code. `name` must outlive the task.
  Task<int> run_script(std::string script, const std::string& name);
  // One step in the sandbox all steps share.
  Task<int> run_step(std::string script);
  bool is_running() const { return running_ != nullptr; }
  // Nothing more is run. While a sandbox is being forked a cancellation would be lost.
  void give_up() { has_given_up_ = true; }
  // Asks the turn that runs to end; the second time, kills it.
  Task<> interrupt();
  Task<> close();

 private:
  Task<pool::Lease> checkout();
  // Both references must outlive the task.
  Task<int> run_in(pool::Lease& lease, std::string script, const std::string& name);
  execution::TurnRequest request_for(std::string script) const;

  const RunPlan& plan_;
  const RunOptions& options_;
  RunOutput& output_;
  std::unique_ptr<runtime::Runtime> runtime_;
  std::optional<pool::Lease> shared_;  // of the steps
  execution::Turn* running_ = nullptr;
  bool was_interrupted_ = false;
  bool has_given_up_ = false;
};

}  // namespace hearth::cli
