#include "native/native_source.h"

#include "async/blocking.h"
#include "async/cleanup.h"
#include "async/shielded.h"
#include "async/within.h"
#include "backend/await_ready.h"
#include "backend/layout.h"
#include "base/id.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "blueprint/derived_limits.h"
#include "native/ending.h"
#include "native/native_sandbox.h"
#include "native/pidfd.h"
#include "os/pairs.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <iterator>
#include <stop_token>
#include <utility>

namespace hearth::native {
namespace {

namespace layout = backend::layout;

const char* const closed_words = "no more sandboxes are made here: the source is closed";

std::string in_seconds(std::chrono::milliseconds limit) {
  const auto tenths = std::chrono::round<std::chrono::duration<int, std::deci>>(limit).count();
  return std::to_string(tenths / 10) + (tenths % 10 != 0 ? "." + std::to_string(tenths % 10) : "") +
         " s";
}

// What init says is a symptom: if the memory limit was hit, that is the cause.
std::string why_not_ready(const backend::Sandbox& sandbox, const std::string& symptom) {
  return sandbox.memory_limit_hit() ? "the sandbox's memory does not suffice for its start"
                                    : symptom;
}

Task<> kill_and_await_exit(NativeSandbox& sandbox) {
  sandbox.kill();
  co_await sandbox.exited();
}

std::vector<int> numbers_of(const std::vector<os::UniqueFd>& fds) {
  std::vector<int> numbers;
  for (const os::UniqueFd& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

void append(std::vector<os::UniqueFd>& fds, std::vector<os::UniqueFd> more) {
  std::move(more.begin(), more.end(), std::back_inserter(fds));
}

// Not every machine can limit disk reads, and few blueprints ask for it.
void require_limits(const NativeMachine& machine, const blueprint::ResourceLimits& limits) try {
  if (limits.disk_read_mb_per_sec == 0) return;
  if (!machine.cgroups) throw Error("there are no cgroups");
  machine.cgroups->enable_disk_limits();
} catch (const Error& error) {
  throw Error(std::string("resource_limits.disk_read_mb_per_sec cannot be kept here: ") +
              error.what());
}

}  // namespace

NativeSource::NativeSource(const asio::any_io_executor& executor,
                           std::shared_ptr<const NativeMachine> machine,
                           blueprint::SandboxConfig config, ZygoteContent content)
    : executor_(executor),
      machine_(std::move(machine)),
      config_(std::move(config)),
      content_(std::move(content)),
      spawn_ended_(executor),
      observer_(machine_),
      background_(executor) {
  require_limits(*machine_, config_.resource_limits);
}

NativeSource::~NativeSource() = default;

Task<> NativeSource::start() {
  ++spawning_;
  const ScopeExit ended([this] {
    --spawning_;
    spawn_ended_.notify_all();
  });
  co_await running_zygote();
}

Task<std::shared_ptr<Zygote>> NativeSource::running_zygote() {
  const Mutex::Lock lock = co_await starting_.lock();
  if (is_stopped_) throw backend::SpawnError(closed_words);
  if (zygote_ && zygote_->alive()) co_return zygote_;
  zygote_.reset();
  zygote_ = co_await load_zygote();
  co_return zygote_;
}

Task<std::shared_ptr<Zygote>> NativeSource::zygote_for_sandbox() {
  if (machine_->zygotes == Zygotes::shared) co_return co_await running_zygote();
  if (is_stopped_) throw backend::SpawnError(closed_words);
  const std::shared_ptr<Zygote> first = std::exchange(zygote_, nullptr);
  if (first && first->alive()) co_return first;
  co_return co_await load_zygote();
}

Task<std::shared_ptr<Zygote>> NativeSource::load_zygote() {
  const LaunchPlan plan =
      launch_plan(content_, machine_->programs, machine_->users.uids, this_machine());
  const ZygoteFilters filters{machine_->zygote_filter.get(), machine_->seccomp_filter.get()};
  CgroupTree::Lease cgroup{nullptr, {}};
  if (machine_->cgroups) {
    cgroup = machine_->cgroups->take(loading_limits(config_.resource_limits));
    cgroup->enter(Cgroup::Phase::ready);
    cgroup->keep_cache();
  }
  const auto zygote =
      std::make_shared<Zygote>(executor_, machine_->programs, plan, filters, std::move(cgroup));
  std::erase_if(zygotes_, [](const auto& one) { return one.expired(); });
  zygotes_.push_back(zygote);
  background_.start("drain a zygote's output", zygote->drain_output());
  try {
    co_await within(machine_->load_limit, zygote->ready());
  } catch (const DeadlineExceeded&) {
    throw backend::ReadyTimeout(zygote->loading() + ": the environment was not loaded within " +
                                in_seconds(machine_->load_limit));
  }
  zygote->set_limits(serving_limits(config_.resource_limits));
  co_return zygote;
}

wire::SpawnRequest NativeSource::request_for(uid_t uid) const {
  wire::SpawnRequest request{};
  request.uid = uid;
  request.gid = uid;
  request.workspace_bytes = static_cast<std::uint64_t>(config_.scratch_size_mb) << 20;
  request.workspace_inodes = request.workspace_bytes / layout::bytes_per_inode;
  request.scratch_bytes = layout::temporary_bytes;
  request.scratch_inodes = layout::temporary_bytes / layout::bytes_per_inode;
  request.file_bytes = blueprint::largest_file_bytes(config_);
  if (!machine_->cgroups) {
    const blueprint::ResourceLimits& limits = config_.resource_limits;
    request.process_memory_bytes = static_cast<std::uint64_t>(limits.memory_mb) << 20;
    if (machine_->limits_processes)
      request.processes = static_cast<std::uint64_t>(limits.pids_limit + layout::own_processes);
  }
  request.use_landlock = machine_->use_landlock ? 1 : 0;
  request.use_large_pages = machine_->use_large_pages ? 1 : 0;
  return request;
}

Task<std::unique_ptr<backend::Sandbox>> NativeSource::spawn() {
  ++spawning_;
  const ScopeExit ended([this] {
    --spawning_;
    spawn_ended_.notify_all();
  });
  const std::shared_ptr<Zygote> zygote = co_await zygote_for_sandbox();
  try {
    co_return co_await spawn_from(zygote);
  } catch (const ZygoteEnded&) {
    if (is_stopped_) throw;
    log::warning("zygote exited and is started again", {{"blueprint", config_.name}});
  }
  // Only once: if a second zygote exits as well, the next one would, too.
  co_return co_await spawn_from(co_await zygote_for_sandbox());
}

// What the zygote is asked for. It gets copies of `fds`, in the order of the request.
struct NativeSource::PlannedFork {
  std::unique_ptr<NativeSandbox> sandbox;
  wire::SpawnRequest request;
  std::vector<os::UniqueFd> fds;
};

NativeSource::PlannedFork NativeSource::plan_fork(const std::shared_ptr<Zygote>& zygote) {
  SandboxParts parts;
  parts.zygote = zygote;
  if (machine_->free_uids) parts.uid = UidPool::take(machine_->free_uids);
  if (machine_->cgroups)
    parts.cgroup = machine_->cgroups->take(cgroup_limits(config_.resource_limits));
  std::vector<os::UniqueFd> joining;
  if (parts.cgroup) joining = parts.cgroup->open_for_joining();
  PlannedFork plan;
  plan.request = request_for(parts.uid ? parts.uid->uid() : 0);
  os::SocketPair stream = os::make_socket_pair(SOCK_STREAM);
  plan.sandbox = std::make_unique<NativeSandbox>(executor_, *this, random_id(),
                                                 std::move(stream.ours), std::move(parts));
  plan.fds.push_back(std::move(stream.theirs));
  plan.fds.push_back(plan.sandbox->worker_requests().take_far_end());
  if (os::UniqueFd network = zygote->take_network()) {
    plan.request.has_network = 1;
    plan.fds.push_back(std::move(network));
  }
  append(plan.fds, std::move(joining));
  return plan;
}

// The order of these steps matters:
// 1. User, cgroup, sockets and network are taken and belong to the NativeSandbox before there is a
//    process. So nothing can fail between the fork and the owner of what it made.
// 2. The fork is shielded. If the caller is cancelled meanwhile, the sandbox still gets its pidfd,
//    and its destructor kills it. Otherwise user and cgroup would be free while processes use them.
// 3. Our copies of the sandbox's descriptors are closed at once. While one is open, the stream does
//    not end when the sandbox does.
// 4. Requests for workers are served before the sandbox is ready: it is ready when it has a worker.
// 5. The posture is read while the worker warms up. No process of the sandbox can gain anything
//    after the fork. A difference may be a file that Python has open for a moment, so it is
//    read again when the sandbox is ready, before any script runs.
// 6. stop() may have been called at any co_await. It is checked last.
// 7. A failure is thrown only when the processes have exited: the caller's place in a pool is free
//    then.
Task<std::unique_ptr<backend::Sandbox>> NativeSource::spawn_from(std::shared_ptr<Zygote> zygote) {
  PlannedFork plan = plan_fork(zygote);
  NativeSandbox& sandbox = *plan.sandbox;
  const std::vector<int> fds = numbers_of(plan.fds);
  sandbox.own(co_await shielded(zygote->fork(plan.request, fds, machine_->ready_limit)));
  sandbox.enter(Cgroup::Phase::preparing);
  plan.fds.clear();
  co_await or_clean_up(make_ready(sandbox), kill_and_await_exit(sandbox));
  co_return std::move(plan.sandbox);
}

Task<> NativeSource::make_ready(NativeSandbox& sandbox) {
  sandbox.serve_workers();
  std::future<Differences> look = observer_.look_at(sandbox);
  co_await await_ready(sandbox);
  const Differences found = co_await observer_.seen(look);
  if (!found.empty()) co_await observer_.check(sandbox);
  if (is_stopped_) throw backend::SpawnError("the source was closed");
  sandbox.enter(Cgroup::Phase::ready);
}

Task<> NativeSource::await_ready(NativeSandbox& sandbox) try {
  co_await backend::await_ready(sandbox.channel(), machine_->ready_limit);
} catch (const IncompleteRead&) {
  throw backend::SpawnError(why_not_ready(sandbox, "the sandbox ended before it was ready"));
} catch (const backend::SpawnError& error) {
  throw backend::SpawnError(why_not_ready(sandbox, error.what()), error.traceback);
}

Task<> NativeSource::check_posture(const NativeSandbox& sandbox) {
  return observer_.check(sandbox);
}

void NativeSource::make_worker(NativeSandbox& sandbox, WorkerRequest request) {
  if (is_closed_) return;
  background_.start("make a worker", serve_request(sandbox.handle(), std::move(request)));
}

Task<> NativeSource::serve_request(std::shared_ptr<NativeSandbox* const> sandbox,
                                   WorkerRequest request) {
  std::string failure;
  try {
    if (*sandbox != nullptr) co_await fork_worker(**sandbox, std::move(request.pipes));
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty()) {
    // Init retries only a few times, and what is missing may be there again soon. close() cancels
    // this wait.
    constexpr std::chrono::milliseconds before_retry(50);
    co_await asio::steady_timer(executor_, before_retry).async_wait(asio::use_awaitable);
  }
  if (*sandbox == nullptr || has_ended((*sandbox)->pidfd())) co_return;
  if (!failure.empty()) {
    log::warning("worker could not be made",
                 {{"blueprint", config_.name}, {"sandbox", (*sandbox)->id()}, {"error", failure}});
    (*sandbox)->worker_requests().say_failed(request.number, failure);
  }
  (*sandbox)->serve_workers();
}

// The sandbox may be destroyed at any co_await: it is not used after the first. The process that
// was to fork the worker then exits with it.
Task<> NativeSource::fork_worker(const NativeSandbox& sandbox, std::vector<os::UniqueFd> pipes) {
  const std::shared_ptr<Zygote> zygote = sandbox.zygote();
  const ExpectedPosture expected = observer_.expected_of(sandbox);
  const os::UniqueFd first(::fcntl(sandbox.pidfd(), F_DUPFD_CLOEXEC, 0));
  if (!first) throw OsError("duplicate a descriptor");
  os::SocketPair gate = os::make_socket_pair(SOCK_STREAM);
  wire::SpawnRequest request = request_for(sandbox.uid());
  request.kind = wire::SpawnKind::worker;
  std::vector<os::UniqueFd> joining;
  if (sandbox.cgroup() != nullptr) joining = sandbox.cgroup()->open_for_joining();
  std::vector<int> fds{first.get(), gate.theirs.get()};
  for (const auto* more : {&pipes, &joining})
    for (const int fd : numbers_of(*more)) fds.push_back(fd);
  const os::UniqueFd worker = co_await shielded(zygote->fork(request, fds, machine_->ready_limit));
  // Only the worker may hold these now: init must see when it exits.
  pipes.clear();
  gate.theirs.reset();
  DescriptorStream stream(executor_, std::move(gate.ours));
  std::array<char, 1> byte{};
  // The worker says that it is in the sandbox, and waits. If it exits before, it has told init why.
  if (co_await stream.read_some(byte) == 0) co_return;
  co_await observer_.check_newcomer(worker, first, expected);
  co_await stream.write({byte.data(), byte.size()});
}

Task<> NativeSource::await_exit_and_clear(SandboxParts parts) {
  // Not cancellable: what is not cleared now is never cleared.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const Ending ending(executor_, parts.pidfd.get(), parts.cgroup.get());
  co_await process_ended(parts.pidfd.get());
  if (parts.network) parts.zygote->keep_network(std::move(parts.network));
  if (parts.cgroup && parts.cgroup->has_cache_to_trim())
    co_await on_thread(trimmer().pool(),
                       [&](const std::stop_token&) { parts.cgroup->trim_cache(); });
}

BackgroundThread& NativeSource::trimmer() {
  if (!trimmer_) trimmer_.emplace();
  return *trimmer_;
}

void NativeSource::clear_away(SandboxParts parts) {
  // Its zygote has exited by then, and all its processes with it.
  if (is_closed_) return;
  background_.start("clear a sandbox away", await_exit_and_clear(std::move(parts)));
}

void NativeSource::stop() {
  is_stopped_ = true;
  // With its zygote every sandbox ends, and so does the wait for one.
  for (const std::weak_ptr<Zygote>& one : zygotes_)
    if (const std::shared_ptr<Zygote> zygote = one.lock()) zygote->end();
  zygote_.reset();
}

Task<> NativeSource::close() {
  stop();
  co_await spawn_ended_.wait_until([this] { return spawning_ == 0; });
  co_await background_.close();
  is_closed_ = true;
}

}  // namespace hearth::native
