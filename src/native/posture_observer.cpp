#include "native/posture_observer.h"

#include "async/blocking.h"
#include "backend/errors.h"
#include "base/joined.h"
#include "native/native_sandbox.h"
#include "native/pidfd.h"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <stop_token>
#include <utility>

namespace hearth::native {
namespace {

// `look` gets the pid of a process that may exit meanwhile: then the pid may name another process.
template <typename Look>
Differences differences_seen(int pidfd, Look look) try {
  const pid_t pid = pid_of(pidfd);
  Differences found = look(pid);
  if (has_ended(pidfd)) found.emplace_back("it has ended");
  return found;
} catch (const std::exception& error) {
  return {std::string("it cannot be looked at: ") + error.what()};
}

void require_none(const Differences& found) {
  if (!found.empty())
    throw backend::SpawnError("the sandbox is not what was asked for: " + joined(found, "; "), {});
}

}  // namespace

PostureObserver::PostureObserver(std::shared_ptr<const NativeMachine> machine)
    : machine_(std::move(machine)) {}

ExpectedPosture PostureObserver::expected_of(const NativeSandbox& sandbox) const {
  const uid_t uid = sandbox.uid();
  const std::optional<UidRange>& uids = machine_->users.uids;
  ExpectedPosture expected;
  expected.uid = uids ? uids->first + uid : ::geteuid();
  expected.gid = uids ? uids->first + uid : ::getegid();
  expected.no_groups = uids.has_value();
  expected.our_namespaces = machine_->own_namespaces;
  if (sandbox.cgroup() != nullptr) {
    const std::filesystem::path& directory = sandbox.cgroup()->directories().front();
    expected.cgroup = directory.parent_path().filename() / directory.filename();
    expected.controllers = sandbox.cgroup()->controllers();
  }
  return expected;
}

std::future<Differences> PostureObserver::look_at(const NativeSandbox& sandbox) {
  // A handle of its own: the sandbox may be gone before the thread is done.
  os::UniqueFd handle(::fcntl(sandbox.pidfd(), F_DUPFD_CLOEXEC, 0));
  if (!handle) throw OsError("duplicate a descriptor");
  const auto look = std::make_shared<std::packaged_task<Differences()>>(
      [pidfd = std::move(handle), expected = expected_of(sandbox)] {
        return differences_seen(
            pidfd.get(), [&](pid_t first) { return differences_of_sandbox(first, expected); });
      });
  asio::post(thread_.pool(), [look] { (*look)(); });
  return look->get_future();
}

Task<Differences> PostureObserver::seen(std::future<Differences>& look) {
  // The thread does one thing after the other: when it does this, it has done `look`.
  if (look.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    co_await on_thread(thread_.pool(), [](const std::stop_token&) {});
  co_return look.get();
}

Task<> PostureObserver::check(const NativeSandbox& sandbox) {
  std::future<Differences> look = look_at(sandbox);
  require_none(co_await seen(look));
}

Task<> PostureObserver::check_newcomer(const os::UniqueFd& pidfd, const os::UniqueFd& first,
                                       ExpectedPosture expected) {
  require_none(co_await on_thread(thread_.pool(), [&](const std::stop_token&) {
    return differences_seen(pidfd.get(), [&](pid_t pid) {
      return differences_of_newcomer(pid, pid_of(first.get()), expected);
    });
  }));
}

}  // namespace hearth::native
