#include "pool/native_sources.h"

#include "base/log.h"
#include "native/cgroup.h"

#include <boost/asio/this_coro.hpp>

#include <exception>
#include <utility>

namespace hearth::pool {

NativeSources::NativeSources(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                             builder::NativeBuilder& builder,
                             std::shared_ptr<const native::NativeHost> host)
    : executor_(std::move(executor)),
      registry_(registry),
      builder_(builder),
      host_(std::move(host)) {}

std::optional<std::uint64_t> NativeSources::memory_limit_bytes() const {
  return native::own_memory_limit_bytes(native::own_cgroup_mounts());
}

Task<std::unique_ptr<backend::SandboxSource>> NativeSources::open(
    std::string sandbox, std::vector<blueprint::Mount> /*mounts*/, OnProgress on_progress) {
  const blueprint::SandboxConfig& config = registry_.sandbox(sandbox);
  if (!blueprint::is_isolated(config))
    log::warning("the blueprint allows hosts, but there is no way out yet: no network",
                 {{"sandbox", sandbox}});
  const builder::Environment built =
      co_await builder_.ensure_environment(sandbox, std::move(on_progress));
  native::Environment environment{built.python, built.packages, built.tools, built.preload,
                                  config.resources};
  auto source =
      std::make_unique<native::NativeSource>(executor_, host_, config, std::move(environment));
  std::exception_ptr failure;
  try {
    co_await source->start();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return source;
  // Cancelled or not: a source must be closed.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await source->close();
  std::rethrow_exception(failure);
}

}  // namespace hearth::pool
