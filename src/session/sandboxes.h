// session/sandboxes.h: what sessions need of the sandboxes below them. A pool gives it
// (pool_sandboxes.h); tests give it with failures.
#pragma once

#include "channel/sandbox_commands.h"
#include "channel/sandbox_files.h"
#include "execution/background.h"
#include "execution/execution_result.h"
#include "execution/script_executor.h"
#include "execution/turn.h"
#include "execution/turn_request.h"
#include "pool/binding.h"
#include "session/kept_variables.h"
#include "session/tree.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace hearth::session {

// One leased sandbox. Its end ends the lease.
class LiveSandbox {
 public:
  virtual ~LiveSandbox() = default;
  virtual const std::string& id() const = 0;

  // One at a time. ConfigError if the request wants more than the lease allows. If the task is
  // cancelled the sandbox is killed.
  virtual Task<execution::ExecutionResult> run(execution::TurnRequest request,
                                               execution::OnEvent on_event) = 0;
  // Asks the running turn to end.
  virtual Task<> cancel() = 0;
  // Ends the interpreter and what earlier turns have left, and with them all variables. Commands go
  // on.
  virtual Task<> restart_interpreter() = 0;
  // Ends all that, and every command. None can be started until allow_commands().
  virtual Task<> end_processes() = 0;
  virtual void allow_commands() = 0;

  // Its files, also while a turn runs. No longer than this.
  virtual SandboxFiles files() = 0;

  // A command beside turns and other commands, or a script in another language than Python. It
  // starts with finished(). No longer than this.
  virtual execution::Turn command(execution::TurnRequest request, execution::OnEvent on_event,
                                  execution::OnOutput on_output) = 0;
  // What it throws: execution::start_background.
  virtual Task<execution::StartedCommand> start(execution::TurnRequest request) = 0;
  // Returns when this background command is over.
  virtual Task<> ended(std::string execution_id) = 0;
  // To list commands, and to read, signal and end them. No longer than this.
  virtual SandboxCommands commands() = 0;

  // The variables that are kept over a pause: before the processes end. What could not be kept is
  // named.
  virtual Task<KeptVariables> keep_variables(VariableLimits limits) = 0;
  // Before any turn. Returns what is not back; the sandbox may be gone afterwards. `variables` must
  // outlive the task.
  virtual Task<std::vector<std::string>> restore_variables(const KeptVariables& variables,
                                                           VariableLimits limits) = 0;

  // The workspace as it is. While it is read nothing may run.
  virtual Task<std::unique_ptr<TreeReader>> read_tree() = 0;
  // Into an empty workspace. `tree` must outlive the task.
  virtual Task<> write_tree(TreeReader& tree) = 0;

  // True if its processes have ended.
  virtual bool is_gone() const = 0;
  // Kills it, and returns when none of its processes is left.
  virtual Task<> end() = 0;
  virtual void kill() = 0;
};

class Sandboxes {
 public:
  virtual ~Sandboxes() = default;

  // Throws what is wrong with such a lease: UnknownBlueprint, ConfigError.
  virtual void check(const std::string& blueprint, const pool::CheckoutOptions& options) const = 0;
  // False: other sandboxes have to end before such a one can be leased.
  virtual bool has_memory_for(const std::string& blueprint,
                              const pool::CheckoutOptions& options) const = 0;
  // Takes a sandbox that is idle or makes one. CapacityReached, SpawnError and what a pool throws.
  virtual Task<std::unique_ptr<LiveSandbox>> lease(std::string blueprint,
                                                   pool::CheckoutOptions options) = 0;
  // Idle ones that no session owns.
  virtual std::size_t spares() const = 0;
};

}  // namespace hearth::session
