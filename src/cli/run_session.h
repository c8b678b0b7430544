// cli/run_session.h: everything `hearth run` starts, on one loop, and its end in order.
#pragma once

#include "async/task.h"
#include "cli/local_backend.h"
#include "cli/run_output.h"
#include "cli/run_plan.h"
#include "execution/script_executor.h"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace hearth::cli {

class RunSession {
 public:
  using OnLine = std::function<void(const std::string&)>;

  // `plan`, `options` and `output` must outlive it.
  RunSession(asio::any_io_executor executor, const RunPlan& plan, const RunOptions& options,
             settings::Env environment, RunOutput& output);
  ~RunSession();

  // Builds the environment. CannotSandbox, BuildError, PythonNotFound, SpawnError,
  // EngineUnreachable.
  Task<> open(OnLine on_build_line);
  // One script in a sandbox of its own. Returns the exit code. `name` must outlive the task.
  Task<int> run_script(std::string script, const std::string& name);
  // One step in the sandbox all steps share.
  Task<int> run_step(std::string script);
  bool is_running() const { return running_ != nullptr; }
  // Nothing more is run. While a sandbox is being forked a cancellation would be lost.
  void give_up() { has_given_up_ = true; }
  // Asks the script that runs to end; the second time, ends it.
  Task<> interrupt();
  Task<> close();

 private:
  class Running;

  // Both references must outlive the task.
  Task<int> run_in(backend::Sandbox& sandbox, std::string script, const std::string& name);
  wire::RunRequest request_for(std::string script) const;

  asio::any_io_executor executor_;
  const RunPlan& plan_;
  const RunOptions& options_;
  settings::Env environment_;
  RunOutput& output_;
  LocalBackend backend_;
  std::unique_ptr<backend::SandboxSource> source_;
  std::unique_ptr<backend::Sandbox> shared_;  // of the steps
  execution::ScriptExecutor* running_ = nullptr;
  backend::Sandbox* running_in_ = nullptr;
  bool interrupted_ = false;
  bool was_killed_ = false;  // by us, the second time it was asked to end
  bool has_given_up_ = false;
};

}  // namespace hearth::cli
