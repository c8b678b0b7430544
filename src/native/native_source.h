// native/native_source.h: makes the sandboxes of one blueprint from kernel namespaces.
#pragma once

#include "async/event.h"
#include "async/mutex.h"
#include "async/task_group.h"
#include "backend/sandbox.h"
#include "blueprint/sandbox_config.h"
#include "native/background_thread.h"
#include "native/native_machine.h"
#include "native/posture_observer.h"
#include "native/sandbox_parts.h"
#include "native/worker_requests.h"
#include "native/zygote.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace hearth::native {

class NativeSandbox;

class NativeSource : public backend::SandboxSource {
 public:
  // The zygote is started by the first spawn or by `start`, and again after it has exited. If each
  // sandbox has its own zygote, `start` makes that of the first one, so that a failure shows early.
  NativeSource(const asio::any_io_executor& executor, std::shared_ptr<const NativeMachine> machine,
               blueprint::SandboxConfig config, ZygoteContent content);
  ~NativeSource() override;

  Task<> start();
  Task<std::unique_ptr<backend::Sandbox>> spawn() override;
  void stop() override;
  // Spawns in progress fail, and are waited for.
  Task<> close() override;

  // ---- for NativeSandbox ----

  backend::Interpreter python() const {
    return {content_.python_version, content_.python.string()};
  }

  // In the background: waits until the processes of a destroyed sandbox have exited, and clears it
  // away.
  void clear_away(SandboxParts parts);
  // Throws SpawnError if the kernel says that the sandbox is not what was asked for.
  Task<> check_posture(const NativeSandbox& sandbox);
  // In the background: the zygote forks a worker into the sandbox; the worker is checked, and init
  // is told if that failed.
  void make_worker(NativeSandbox& sandbox, WorkerRequest request);

 private:
  struct PlannedFork;

  Task<std::shared_ptr<Zygote>> running_zygote();
  Task<std::shared_ptr<Zygote>> zygote_for_sandbox();
  Task<std::shared_ptr<Zygote>> load_zygote();
  Task<std::unique_ptr<backend::Sandbox>> spawn_from(std::shared_ptr<Zygote> zygote);
  PlannedFork plan_fork(const std::shared_ptr<Zygote>& zygote);
  Task<> make_ready(NativeSandbox& sandbox);
  Task<> await_ready(NativeSandbox& sandbox);
  wire::SpawnRequest request_for(uid_t uid) const;
  Task<> serve_request(std::shared_ptr<NativeSandbox* const> sandbox, WorkerRequest request);
  Task<> fork_worker(const NativeSandbox& sandbox, std::vector<os::UniqueFd> pipes);
  Task<> await_exit_and_clear(SandboxParts parts);
  BackgroundThread& trimmer();

  asio::any_io_executor executor_;
  std::shared_ptr<const NativeMachine> machine_;
  blueprint::SandboxConfig config_;
  ZygoteContent content_;
  std::shared_ptr<Zygote> zygote_;
  Mutex starting_;
  std::vector<std::weak_ptr<Zygote>> zygotes_;  // that are loading or loaded
  std::size_t spawning_ = 0;
  AsyncEvent spawn_ended_;
  bool is_stopped_ = false;  // nothing new is made, and all sandboxes end
  bool is_closed_ = false;
  PostureObserver observer_;
  // Reclaims page cache of groups whose processes have exited, so that they can be reused: the
  // kernel keeps a removed group for as long as pages are charged to it. Started when needed.
  std::optional<BackgroundThread> trimmer_;
  TaskGroup background_;
};

}  // namespace hearth::native
