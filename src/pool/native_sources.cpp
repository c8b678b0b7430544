#include "pool/native_sources.h"

#include "backend/mount_check.h"
#include "base/log.h"
#include "native/cgroup_mounts.h"
#include "native/group_access.h"

#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <exception>
#include <utility>

namespace hearth::pool {
namespace {

// An ordinary user's groups stay in its sandboxes.
void judge_group_access(const std::vector<blueprint::Mount>& mounts) {
  const native::Credentials own = native::own_credentials();
  for (const blueprint::Mount& mount : mounts) {
    const auto file = native::file_that_depends_on_group(mount.source, own);
    if (file == mount.source)
      throw Error("the mount of " + mount.source + " is refused: only a supplementary group of " +
                  "this user may use it, and sandboxes are not meant to have such");
    if (file)
      log::warning("scripts can use a file of a mount by a supplementary group of this user",
                   {{"mount", mount.source}, {"file", file->string()}});
  }
}

}  // namespace

NativeSources::NativeSources(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                             builder::NativeBuilder& builder,
                             std::shared_ptr<const native::NativeMachine> host,
                             std::vector<std::string> hidden)
    : executor_(std::move(executor)),
      registry_(registry),
      builder_(builder),
      host_(std::move(host)),
      hidden_(std::move(hidden)) {
  hidden_.push_back(builder_.state_dir().string());
}

std::optional<std::uint64_t> NativeSources::memory_limit_bytes() const {
  return native::own_memory_limit_bytes(native::own_cgroup_mounts());
}

Task<std::unique_ptr<backend::SandboxSource>> NativeSources::open(
    std::string blueprint, std::vector<blueprint::Mount> /*mounts*/, OnProgress on_progress) {
  const blueprint::SandboxConfig& config = registry_.blueprint(blueprint);
  if (!blueprint::is_isolated(config))
    log::warning("the blueprint allows hosts, but there is no way out yet: no network",
                 {{"blueprint", blueprint}});
  std::vector<blueprint::Mount> mounts;
  for (const blueprint::FileResource& resource : config.resources)
    mounts.push_back({resource.host_path, resource.container_path, resource.read_only});
  backend::refuse_unsafe_mounts(mounts, hidden_);
  if (::geteuid() != 0) judge_group_access(mounts);
  const builder::Environment built =
      co_await builder_.ensure_environment(blueprint, std::move(on_progress));
  native::ZygoteContent environment{built.python, built.packages, built.tools, built.preload,
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
