// native/native_source.h: sandboxes made of kernel namespaces, of one environment.
#pragma once

#include "async/mutex.h"
#include "async/task_group.h"
#include "backend/sandbox.h"
#include "blueprint/sandbox_config.h"
#include "native/cgroup.h"
#include "native/posture.h"
#include "native/sandbox_users.h"
#include "native/worker_requests.h"
#include "native/zygote.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace hearth::native {

struct ExpectedPosture;
class NativeSandbox;

// Sandboxes of one zygote have the same addresses and the same hash seed.
enum class Zygotes {
  shared,       // one for all sandboxes of an environment
  per_sandbox,  // each sandbox has one of its own, which takes as long as Python and all it imports
};

// What all sources of one process share.
struct NativeMachine {
  backend::Programs programs;
  os::UniqueFd seccomp_filter;
  os::UniqueFd zygote_filter;
  Zygotes zygotes = Zygotes::shared;
  SandboxUsers users;
  std::shared_ptr<UidPool> free_uids;  // those of a claimed range, for the sandboxes of all sources
  std::unique_ptr<CgroupTree> cgroups;  // empty only with allow_degraded
  bool use_landlock = true;
  std::chrono::milliseconds ready_limit{};
  std::chrono::milliseconds load_limit{};
  std::map<std::string, std::string> own_namespaces;
  std::vector<std::string> degraded;  // what is missing, in words
};

struct NativeMachineOptions {
  bool allow_degraded = false;
  // The directory of hearth-init and its companions, for a program that is not beside them;
  // HEARTH_LIBEXEC where the CMake package was found. Empty: see find_programs.
  std::filesystem::path programs{};
  // For a sandbox to be forked, and then for it to be ready.
  std::chrono::milliseconds ready_limit{30'000};
  // For all that an environment imports before its first sandbox.
  std::chrono::milliseconds load_limit{120'000};
  Zygotes zygotes = Zygotes::shared;
};
// Throws CannotSandbox naming everything that is missing, unless the operator accepts that. A host
// whose sandboxes would be the machine's root is refused in any case.
struct CannotSandbox : Error {
  enum class Remedy { allow_degraded, none };
  explicit CannotSandbox(std::vector<std::string> what, Remedy remedy = Remedy::allow_degraded);
  std::vector<std::string> missing;
};
std::shared_ptr<const NativeMachine> open_native_machine(const NativeMachineOptions& options);

class NativeSource : public backend::SandboxSource {
 public:
  // The zygote is started by the first spawn, or by `start`, and again when it has ended. If each
  // sandbox has its own, `start` makes that of the first one: whether it can be made is known then.
  NativeSource(const asio::any_io_executor& executor, std::shared_ptr<const NativeMachine> host,
               blueprint::SandboxConfig config, ZygoteContent environment);
  ~NativeSource() override;

  Task<> start();
  Task<std::unique_ptr<backend::Sandbox>> spawn() override;
  void stop() override;
  // Spawns on their way fail, and are waited for.
  Task<> close() override;

  // Waits for the end of what a destroyed sandbox was, and clears it away.
  struct SandboxParts {
    os::UniqueFd pidfd;
    CgroupTree::Lease cgroup{nullptr, {}};
    std::optional<UidPool::Lease> uid;
    os::UniqueFd network;  // a namespace, for another sandbox
    std::shared_ptr<Zygote> zygote;
  };
  void bury(SandboxParts remains);

  // Throws SpawnError if the kernel says that it is not what was asked for.
  Task<> check_posture(const NativeSandbox& sandbox);

  // Has its zygote fork it into the sandbox, looks at what came of that, and tells its init.
  void make_worker(NativeSandbox& sandbox, WorkerRequest request);

 private:
  class Spawning;  // one that close() waits for

  Task<std::shared_ptr<Zygote>> running_zygote();
  Task<std::shared_ptr<Zygote>> zygote_for_sandbox();
  Task<std::shared_ptr<Zygote>> load_zygote();
  Task<std::unique_ptr<backend::Sandbox>> spawn_from(std::shared_ptr<Zygote> zygote);
  Task<> make_ready(NativeSandbox& sandbox);
  wire::SpawnRequest request_for(uid_t uid) const;
  ExpectedPosture expected_of(const NativeSandbox& sandbox) const;
  std::future<Differences> look_at(const NativeSandbox& sandbox);
  Task<> fork_worker(std::shared_ptr<NativeSandbox* const> sandbox, WorkerRequest request);
  Task<> wait_and_clear(SandboxParts remains);
  asio::thread_pool& trimmer();
  Task<> let_worker_in(const NativeSandbox& sandbox, std::vector<os::UniqueFd> ends);

  asio::any_io_executor executor_;
  std::shared_ptr<const NativeMachine> host_;
  blueprint::SandboxConfig config_;
  ZygoteContent environment_;
  std::shared_ptr<Zygote> zygote_;
  Mutex starting_;
  std::vector<std::weak_ptr<Zygote>> zygotes_;  // that are loading or loaded
  std::size_t spawning_ = 0;
  asio::steady_timer spawn_ended_;  // never expires; cancelled whenever one has
  bool is_stopped_ = false;         // nothing new, and all there is ends
  bool is_closed_ = false;
  // Reads what the kernel says of new sandboxes. Of this source and not of all: its threads must
  // have ended before the loop does.
  asio::thread_pool observers_{1};
  // Reclaims page cache of groups whose processes have exited, so that they can be reused: the
  // kernel keeps a removed group for as long as pages are charged to it. Started when there is
  // some.
  std::optional<asio::thread_pool> trimmer_;
  TaskGroup background_;
};

}  // namespace hearth::native
