#include "execution/leased_turn.h"

#include <utility>

namespace hearth::execution {

SandboxControls controls_of(backend::Sandbox& sandbox) {
  SandboxControls controls;
  controls.kill = [&sandbox] { sandbox.kill(); };
  controls.memory_limit_hit = [&sandbox] { return sandbox.memory_limit_hit(); };
  return controls;
}

Task<ExecutionResult> run_turn(pool::Lease& lease, std::string script,
                               ScriptExecutor::OnEvent on_event) {
  ScriptExecutor executor(lease.sandbox().channel(), controls_of(lease.sandbox()));
  // Whatever ends this early leaves a script running.
  struct UntilKnown {
    pool::Lease& lease;
    bool is_known = false;
    ~UntilKnown() {
      if (!is_known) lease.condemn();
    }
  } state{lease};
  ExecutionResult result =
      co_await executor.run(lease.binding().request(std::move(script)), std::move(on_event));
  state.is_known = result.sandbox_usable;
  co_return result;
}

}  // namespace hearth::execution
