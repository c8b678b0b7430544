// pool/native_sources.h: sandboxes of kernel namespaces for a pool: the builder's environments in
// the native backend's hands.
#pragma once

#include "backend/sandbox.h"
#include "builder/native_builder.h"
#include "native/native_source.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace hearth::pool {

class NativeSources : public backend::SourceFactory {
 public:
  // `registry` and `builder` must outlive it. `hidden`: what no mount may show, beside the
  // builder's state directory (mount_check.h).
  NativeSources(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                builder::NativeBuilder& builder, std::shared_ptr<const native::NativeMachine> host,
                std::vector<std::string> hidden = {});

  // Mounts what this process sees: no engine is between.
  Task<std::unique_ptr<backend::SandboxSource>> open(std::string blueprint,
                                                     std::vector<blueprint::Mount> mounts,
                                                     OnProgress on_progress) override;
  // A new one costs a few milliseconds, ahead of time.
  std::uint64_t usual_max_uses() const override { return 1; }
  // Zygotes have twins: on a large machine they make more at once than an engine should have to.
  std::size_t parallel_spawns() const override {
    return std::clamp(std::thread::hardware_concurrency() + 1, 2U, 16U);
  }
  // That of the groups this process is in: its sandboxes are below them.
  std::optional<std::uint64_t> memory_limit_bytes() const override;

 private:
  asio::any_io_executor executor_;
  const registry::ToolRegistry& registry_;
  builder::NativeBuilder& builder_;
  std::shared_ptr<const native::NativeMachine> host_;
  std::vector<std::string> hidden_;
};

}  // namespace hearth::pool
