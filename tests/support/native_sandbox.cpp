#include "tests/support/native_sandbox.h"

#include "execution/turn.h"
#include "os/user_rights.h"

#include <boost/asio/co_spawn.hpp>

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <utility>

namespace hearth::test {

namespace {

// For a caller that has no cgroups, as tests of other_caller.h make it.
bool allows_degraded() { return std::getenv("HEARTH_TEST_ALLOW_DEGRADED") != nullptr; }

}  // namespace

std::shared_ptr<const native::NativeMachine> native_host() {
  static const std::shared_ptr<const native::NativeMachine> host =
      native::open_native_machine({.allow_degraded = allows_degraded()});
  return host;
}

settings::Settings native_settings(const std::filesystem::path& state) {
  settings::Settings settings;
  settings.state.dir = state;
  settings.native.allow_degraded = allows_degraded();
  return settings;
}

bool host_is_machine_root() { return os::host_root_uid() == ::geteuid(); }

native::ZygoteContent plain_environment() {
  native::ZygoteContent environment;
  const char* named = std::getenv("HEARTH_TEST_PYTHON");
  environment.python = std::filesystem::canonical(named != nullptr ? named : "/usr/bin/python3");
  return environment;
}

NativeSandboxes::NativeSandboxes(blueprint::SandboxConfig config, native::ZygoteContent environment)
    : source_(loop_.get_executor(), native_host(), std::move(config), std::move(environment)) {}

NativeSandboxes::NativeSandboxes(std::shared_ptr<const native::NativeMachine> host,
                                 blueprint::SandboxConfig config)
    : source_(loop_.get_executor(), std::move(host), std::move(config), plain_environment()) {}

NativeSandboxes::~NativeSandboxes() { run_task(loop_, source_.close()); }

std::vector<std::unique_ptr<backend::Sandbox>> NativeSandboxes::spawn_at_once(std::size_t count) {
  std::vector<std::unique_ptr<backend::Sandbox>> made;
  std::exception_ptr failure;
  for (std::size_t i = 0; i < count; ++i)
    asio::co_spawn(loop_, source_.spawn(),
                   [&](const std::exception_ptr& thrown, std::unique_ptr<backend::Sandbox> one) {
                     if (thrown) failure = thrown;
                     made.push_back(std::move(one));
                   });
  loop_.restart();
  while (made.size() < count) loop_.run_one();
  if (failure) std::rethrow_exception(failure);
  return made;
}

execution::ExecutionResult NativeSandboxes::run(const std::string& script, double timeout_seconds) {
  const std::unique_ptr<backend::Sandbox> sandbox = spawn();
  return run_in(*sandbox, script, timeout_seconds);
}

execution::ExecutionResult NativeSandboxes::run_in(backend::Sandbox& sandbox,
                                                   const std::string& script,
                                                   double timeout_seconds) {
  execution::ScriptExecutor executor(sandbox);
  wire::RunRequest request;
  request.script = script;
  request.timeout_seconds = timeout_seconds;
  return run_task(loop_, executor.run(std::move(request)));
}

}  // namespace hearth::test
