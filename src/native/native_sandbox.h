// native/native_sandbox.h: one sandbox of a zygote, from the host's side.
#pragma once

#include "async/alarm.h"
#include "backend/sandbox.h"
#include "native/ending.h"
#include "native/native_source.h"
#include "native/worker_requests.h"

#include <boost/asio/any_io_executor.hpp>

#include <utility>

namespace hearth::native {

class NativeSandbox : public backend::Sandbox {
 public:
  // Without processes, until own() gives it some. `source` must outlive it.
  NativeSandbox(asio::any_io_executor executor, NativeSource& source, std::string id,
                os::UniqueFd stream, NativeSource::SandboxParts parts);
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
  Task<> set_limits(blueprint::ResourceLimits limits) override;
  Task<> probe() override;

  void enter(Cgroup::Phase phase);
  int pidfd() const { return parts_.pidfd.get(); }
  // As the zygote's user namespace counts; 0 if it has none of its own.
  uid_t uid() const { return parts_.uid ? parts_.uid->uid() : 0; }
  const Cgroup* cgroup() const { return parts_.cgroup.get(); }
  std::shared_ptr<Zygote> zygote() const { return parts_.zygote; }

  WorkerRequests& worker_requests() { return worker_line_; }
  // From now on workers are made for whom its init asks for.
  void serve_workers();
  // For who may come back when it is gone: null by then.
  std::shared_ptr<NativeSandbox* const> handle() const { return self_; }

 private:
  asio::any_io_executor executor_;
  NativeSource& source_;
  std::string id_;
  SandboxChannel channel_;
  WorkerRequests worker_line_;
  NativeSource::SandboxParts parts_;
  std::optional<Alarm> overdue_;
  std::optional<Ending> ending_;
  std::shared_ptr<NativeSandbox*> self_ = std::make_shared<NativeSandbox*>(this);
};

}  // namespace hearth::native
