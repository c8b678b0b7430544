// native/native_sandbox.h: one sandbox that a zygote forked, as the host sees it.
#pragma once

#include "async/alarm.h"
#include "backend/sandbox.h"
#include "native/ending.h"
#include "native/native_source.h"
#include "native/sandbox_parts.h"
#include "native/worker_requests.h"

#include <boost/asio/any_io_executor.hpp>

#include <utility>

namespace hearth::native {

class NativeSandbox : public backend::Sandbox {
 public:
  // Without a process until own(). `source` must outlive it.
  NativeSandbox(asio::any_io_executor executor, NativeSource& source, std::string id,
                os::UniqueFd stream, SandboxParts parts);
  ~NativeSandbox() override;
  NativeSandbox(const NativeSandbox&) = delete;
  NativeSandbox& operator=(const NativeSandbox&) = delete;

  void own(os::UniqueFd pidfd) { parts_.pidfd = std::move(pidfd); }

  const std::string& id() const override { return id_; }
  SandboxChannel& channel() override { return channel_; }
  void kill() override;
  Task<> exited() override;
  bool memory_limit_hit() const override;
  Task<backend::SandboxUsage> usage() const override;
  std::vector<std::string> degraded() const override;
  backend::Interpreter python() const override { return source_.python(); }
  Task<> set_limits(blueprint::ResourceLimits limits) override;
  Task<> probe() override;

  void enter(Cgroup::Phase phase);
  int pidfd() const { return parts_.pidfd.get(); }
  // Its number in the zygote's user namespace; 0 if it has no user of its own.
  uid_t uid() const { return parts_.uid ? parts_.uid->uid() : 0; }
  const Cgroup* cgroup() const { return parts_.cgroup.get(); }
  std::shared_ptr<Zygote> zygote() const { return parts_.zygote; }

  WorkerRequests& worker_requests() { return worker_requests_; }
  // Starts serving init's requests for workers.
  void serve_workers();
  // For tasks that may outlive the sandbox: null once it is destroyed.
  std::shared_ptr<NativeSandbox* const> handle() const { return self_; }

 private:
  asio::any_io_executor executor_;
  NativeSource& source_;
  std::string id_;
  SandboxChannel channel_;
  WorkerRequests worker_requests_;
  SandboxParts parts_;
  std::optional<Alarm> overdue_;
  std::optional<Ending> ending_;
  std::shared_ptr<NativeSandbox*> self_ = std::make_shared<NativeSandbox*>(this);
};

}  // namespace hearth::native
