// runtime/native_backend.h: sandboxes of kernel namespaces: the builder's environments, and the
// sources that make sandboxes of them.
#pragma once

#include "builder/native_builder.h"
#include "native/native_source.h"
#include "runtime/backends.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace hearth::runtime {

struct NativeBackendOptions {
  builder::NativeBuilderOptions builder{};
  native::NativeMachineOptions machine{};
  // What no mount may show, beside the builder's state directory (mount_check.h).
  std::vector<std::string> hidden{};
};

class NativeBackend : public backend::Backend {
 public:
  // `registry` must outlive it. Whether the machine can isolate is found out by the first open(),
  // which then throws CannotSandbox.
  NativeBackend(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                NativeBackendOptions options);

  Task<std::string> build(std::string blueprint, backend::Freshness freshness,
                          OnProgress on_progress) override;
  // Mounts what this process sees: no engine is between.
  Task<std::unique_ptr<backend::SandboxSource>> open(std::string blueprint,
                                                     std::vector<blueprint::Mount> mounts,
                                                     OnProgress on_progress) override;
  Task<std::vector<backend::Built>> list() override { return builder_.list(); }
  Task<std::vector<std::string>> prune(backend::Prune how) override { return builder_.prune(how); }
  Task<std::vector<backend::Finding>> examine() override;
  // A new one costs a few milliseconds, ahead of time.
  std::uint64_t usual_max_uses() const override { return 1; }
  // Zygotes have twins: on a large machine they make more at once than an engine should have to.
  std::size_t parallel_spawns() const override {
    return std::clamp(std::thread::hardware_concurrency() + 1, 2U, 16U);
  }
  // That of the cgroups this process is in: its sandboxes are below them.
  std::optional<std::uint64_t> memory_limit_bytes() const override;

 private:
  asio::any_io_executor executor_;
  const registry::ToolRegistry& registry_;
  NativeBackendOptions options_;
  builder::NativeBuilder builder_;
  std::shared_ptr<const native::NativeMachine> machine_;
};

std::unique_ptr<backend::Backend> open_native_backend(const BackendContext& context);

// What a shell would start; see builder/find_python.h.
std::optional<backend::Interpreter> usual_native_python();
// PythonNotFound, UntrustedPath.
backend::Interpreter named_native_python(const std::string& path);

}  // namespace hearth::runtime
