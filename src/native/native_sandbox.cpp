#include "native/native_sandbox.h"

#include "native/pidfd.h"

#include <fcntl.h>

#include <string>
#include <utility>

namespace hearth::native {
namespace {

// None if the sandbox has ended: then its pid may name another process by now.
os::UniqueFd network_of(int pidfd) {
  const std::string path = "/proc/" + std::to_string(pid_of(pidfd)) + "/ns/net";
  os::UniqueFd network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return has_ended(pidfd) ? os::UniqueFd() : std::move(network);
}

}  // namespace

NativeSandbox::NativeSandbox(asio::any_io_executor executor, NativeSource& source, std::string id,
                             os::UniqueFd stream, SandboxParts parts)
    : executor_(std::move(executor)),
      source_(source),
      id_(std::move(id)),
      channel_(std::make_unique<DescriptorStream>(executor_, std::move(stream))),
      worker_requests_(executor_),
      parts_(std::move(parts)) {
  enter(Cgroup::Phase::isolating);
}

NativeSandbox::~NativeSandbox() {
  *self_ = nullptr;
  if (!parts_.pidfd) return;
  NativeSandbox::kill();  // no derived class is alive by now
  ending_.reset();
  source_.clear_away(std::move(parts_));
}

void NativeSandbox::kill() {
  // Only now: thousands of idle sandboxes would need a descriptor more each.
  if (!parts_.network) parts_.network = network_of(parts_.pidfd.get());
  // Before what may fail.
  kill_process(parts_.pidfd.get());
  enter(Cgroup::Phase::ending);
  if (!ending_) ending_.emplace(executor_, parts_.pidfd.get(), parts_.cgroup.get());
}

void NativeSandbox::enter(Cgroup::Phase phase) {
  if (!parts_.cgroup) return;
  parts_.cgroup->enter(phase);
  if (phase == Cgroup::Phase::ready || phase == Cgroup::Phase::ending) overdue_.reset();
  if (phase == Cgroup::Phase::isolating)
    overdue_.emplace(executor_, Cgroup::patience, [this] { parts_.cgroup->hurry(); });
}

Task<> NativeSandbox::exited() { return process_ended(parts_.pidfd.get()); }

bool NativeSandbox::memory_limit_hit() const {
  return parts_.cgroup != nullptr && parts_.cgroup->memory_limit_hit();
}

Task<backend::SandboxUsage> NativeSandbox::usage() const {
  co_return parts_.cgroup != nullptr ? parts_.cgroup->usage() : backend::SandboxUsage{};
}

std::vector<std::string> NativeSandbox::degraded() const {
  return parts_.cgroup == nullptr ? std::vector<std::string>{"memory", "pids", "cpu"}
                                  : std::vector<std::string>{};
}

Task<> NativeSandbox::set_limits(blueprint::ResourceLimits limits) {
  if (parts_.cgroup == nullptr) throw Error("without cgroups a sandbox cannot be limited");
  parts_.cgroup->set_limits(cgroup_limits(limits));
  co_return;
}

void NativeSandbox::serve_workers() {
  worker_requests_.await_request(
      [this](WorkerRequest request) { source_.make_worker(*this, std::move(request)); });
}

Task<> NativeSandbox::probe() {
  constexpr std::chrono::seconds limit(5);
  co_await source_.check_posture(*this);
  co_await channel_.ping(limit);
}

}  // namespace hearth::native
