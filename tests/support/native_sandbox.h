// tests/support/native_sandbox.h: sandboxes of the native backend, for tests.
#pragma once

#include "execution/script_executor.h"
#include "native/native_source.h"
#include "settings/settings.h"
#include "tests/support/run_task.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace hearth::test {

// One per test program: what the machine offers does not change.
std::shared_ptr<const native::NativeMachine> native_host();
// For runtimes of tests: everything they keep is in `state`.
settings::Settings native_settings(const std::filesystem::path& state);
// Not merely root of a user namespace.
bool host_is_machine_root();
native::ZygoteContent plain_environment();

class NativeSandboxes {
 public:
  explicit NativeSandboxes(blueprint::SandboxConfig config = {},
                           native::ZygoteContent environment = plain_environment());
  explicit NativeSandboxes(std::shared_ptr<const native::NativeMachine> host,
                           blueprint::SandboxConfig config = {});
  ~NativeSandboxes();

  asio::io_context& loop() { return loop_; }
  native::NativeSource& source() { return source_; }
  std::unique_ptr<backend::Sandbox> spawn() { return run_task(loop_, source_.spawn()); }
  std::vector<std::unique_ptr<backend::Sandbox>> spawn_at_once(std::size_t count);
  // One script in a sandbox of its own.
  execution::ExecutionResult run(const std::string& script, double timeout_seconds = 20);
  execution::ExecutionResult run_in(backend::Sandbox& sandbox, const std::string& script,
                                    double timeout_seconds = 20);

 private:
  asio::io_context loop_{1};
  native::NativeSource source_;
};

}  // namespace hearth::test
