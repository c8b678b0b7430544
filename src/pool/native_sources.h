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

namespace hearth::pool {

class NativeSources : public backend::SourceFactory {
 public:
  // `registry` and `builder` must outlive it.
  NativeSources(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                builder::NativeBuilder& builder, std::shared_ptr<const native::NativeHost> host);

  // Mounts what this process sees: no engine is between.
  Task<std::unique_ptr<backend::SandboxSource>> open(std::string sandbox,
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
  std::shared_ptr<const native::NativeHost> host_;
};

}  // namespace hearth::pool
