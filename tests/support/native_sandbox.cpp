#include "tests/support/native_sandbox.h"

#include "execution/leased_turn.h"

#include <cstdlib>
#include <filesystem>

namespace hearth::test {

std::shared_ptr<const native::NativeHost> native_host() {
  static const std::shared_ptr<const native::NativeHost> host = native::open_native_host({});
  return host;
}

native::Environment plain_environment() {
  native::Environment environment;
  const char* named = std::getenv("HEARTH_TEST_PYTHON");
  environment.python = std::filesystem::canonical(named != nullptr ? named : "/usr/bin/python3");
  return environment;
}

NativeSandboxes::NativeSandboxes(blueprint::SandboxConfig config, native::Environment environment)
    : source_(loop_.get_executor(), native_host(), std::move(config), std::move(environment)) {}

NativeSandboxes::~NativeSandboxes() { run_task(loop_, source_.close()); }

execution::ExecutionResult NativeSandboxes::run(const std::string& script, double timeout_seconds) {
  const std::unique_ptr<backend::Sandbox> sandbox = spawn();
  return run_in(*sandbox, script, timeout_seconds);
}

execution::ExecutionResult NativeSandboxes::run_in(backend::Sandbox& sandbox,
                                                   const std::string& script,
                                                   double timeout_seconds) {
  execution::ScriptExecutor executor(sandbox.channel(), execution::controls_of(sandbox));
  wire::RunRequest request;
  request.script = script;
  request.timeout_seconds = timeout_seconds;
  return run_task(loop_, executor.run(std::move(request)));
}

}  // namespace hearth::test
