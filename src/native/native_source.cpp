#include "native/native_source.h"

#include "async/blocking.h"
#include "async/shielded.h"
#include "async/within.h"
#include "base/id.h"
#include "base/log.h"
#include "blueprint/derived_limits.h"
#include "native/ending.h"
#include "native/native_sandbox.h"
#include "native/pidfd.h"
#include "native/posture.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <exception>
#include <utility>

namespace hearth::native {
namespace {

constexpr int later = 10;  // the priority of threads that turns go before

// A file costs the kernel about a kilobyte; this keeps an empty one for each.
constexpr std::uint64_t bytes_per_inode = 4096;
constexpr std::uint64_t scratch_bytes = std::uint64_t{64} << 20;

const char* const closed_words = "no more sandboxes are made here: the source is closed";

std::string in_seconds(std::chrono::milliseconds limit) {
  const auto tenths = std::chrono::round<std::chrono::duration<int, std::deci>>(limit).count();
  return std::to_string(tenths / 10) + (tenths % 10 != 0 ? "." + std::to_string(tenths % 10) : "") +
         " s";
}

struct StreamPair {
  os::UniqueFd ours;
  os::UniqueFd theirs;
};

StreamPair stream_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw OsError("create the sandbox's stream");
  return {os::UniqueFd(ends[0]), os::UniqueFd(ends[1])};
}

// What the sandbox says of itself is only how it felt: the kernel knows better.
std::string why_not_ready(const backend::Sandbox& sandbox, const std::string& its_word) {
  return sandbox.memory_limit_hit() ? "the sandbox's memory does not suffice for its start"
                                    : its_word;
}

// `look` gets the number of a process that may end meanwhile: then it was perhaps another's.
template <typename Look>
Differences differences_seen(int pidfd, Look look) try {
  const pid_t pid = pid_of(pidfd);
  Differences found = look(pid);
  if (has_ended(pidfd)) found.emplace_back("it has ended");
  return found;
} catch (const std::exception& error) {
  return {std::string("it cannot be looked at: ") + error.what()};
}

// What only some machines can limit, and only some blueprints want to.
void require_limits(const NativeMachine& host, const blueprint::ResourceLimits& limits) try {
  if (limits.disk_read_mb_per_sec == 0) return;
  if (!host.cgroups) throw Error("there are no cgroups");
  host.cgroups->enable_disk_limits();
} catch (const Error& error) {
  throw Error(std::string("resource_limits.disk_read_mb_per_sec cannot be kept here: ") +
              error.what());
}

std::string in_words(const Differences& found) {
  std::string words = "the sandbox is not what was asked for: ";
  for (std::size_t i = 0; i < found.size(); ++i) words += (i == 0 ? "" : "; ") + found[i];
  return words;
}

}  // namespace

class NativeSource::Spawning {
 public:
  explicit Spawning(NativeSource& source) : source_(source) { ++source_.spawning_; }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;
  ~Spawning() {
    --source_.spawning_;
    source_.spawn_ended_.cancel();
  }

 private:
  NativeSource& source_;
};

NativeSource::NativeSource(const asio::any_io_executor& executor,
                           std::shared_ptr<const NativeMachine> host,
                           blueprint::SandboxConfig config, ZygoteContent environment)
    : executor_(executor),
      host_(std::move(host)),
      config_(std::move(config)),
      environment_(std::move(environment)),
      spawn_ended_(executor, asio::steady_timer::time_point::max()),
      background_(executor) {
  require_limits(*host_, config_.resource_limits);
  // What it looks at is not in use yet; turns go first.
  asio::post(observers_, [] { ::setpriority(PRIO_PROCESS, 0, later); });
}

NativeSource::~NativeSource() = default;

Task<> NativeSource::start() {
  const Spawning counted(*this);
  co_await running_zygote();
}

Task<std::shared_ptr<Zygote>> NativeSource::running_zygote() {
  const Mutex::Lock lock = co_await starting_.lock();
  if (is_stopped_) throw SpawnError(closed_words, {});
  if (zygote_ && zygote_->alive()) co_return zygote_;
  zygote_.reset();
  zygote_ = co_await load_zygote();
  co_return zygote_;
}

Task<std::shared_ptr<Zygote>> NativeSource::zygote_for_sandbox() {
  if (host_->zygotes == Zygotes::shared) co_return co_await running_zygote();
  if (is_stopped_) throw SpawnError(closed_words, {});
  const std::shared_ptr<Zygote> first = std::exchange(zygote_, nullptr);
  if (first && first->alive()) co_return first;
  co_return co_await load_zygote();
}

Task<std::shared_ptr<Zygote>> NativeSource::load_zygote() {
  const LaunchPlan plan =
      launch_plan(environment_, host_->programs, host_->users.uids, this_machine());
  const ZygoteFilters filters{host_->zygote_filter.get(), host_->seccomp_filter.get()};
  CgroupTree::Lease cgroup{nullptr, {}};
  if (host_->cgroups) {
    cgroup = host_->cgroups->take(loading_limits(config_.resource_limits));
    cgroup->enter(Cgroup::Phase::ready);
    cgroup->keep_cache();
  }
  const auto zygote =
      std::make_shared<Zygote>(executor_, host_->programs, plan, filters, std::move(cgroup));
  std::erase_if(zygotes_, [](const auto& one) { return one.expired(); });
  zygotes_.push_back(zygote);
  background_.start("drain a zygote's output", zygote->drain_output());
  try {
    co_await within(host_->load_limit, zygote->ready());
  } catch (const DeadlineExceeded&) {
    throw ReadyTimeout(zygote->loading() + ": the environment was not loaded within " +
                       in_seconds(host_->load_limit));
  }
  zygote->set_limits(serving_limits(config_.resource_limits));
  co_return zygote;
}

wire::SpawnRequest NativeSource::request_for(uid_t uid) const {
  wire::SpawnRequest request{};
  request.uid = uid;
  request.gid = uid;
  request.workspace_bytes = static_cast<std::uint64_t>(config_.scratch_size_mb) << 20;
  request.workspace_inodes = request.workspace_bytes / bytes_per_inode;
  request.scratch_bytes = scratch_bytes;
  request.scratch_inodes = scratch_bytes / bytes_per_inode;
  request.file_bytes = blueprint::largest_file_bytes(config_);
  request.use_landlock = host_->use_landlock ? 1 : 0;
  return request;
}

Task<std::unique_ptr<backend::Sandbox>> NativeSource::spawn() {
  const Spawning counted(*this);
  const std::shared_ptr<Zygote> zygote = co_await zygote_for_sandbox();
  try {
    co_return co_await spawn_from(zygote);
  } catch (const ZygoteEnded&) {
    if (is_stopped_) throw;
    log::warning("a zygote has ended and is started again", {});
  }
  // Only once: a second one that ends has its reasons.
  co_return co_await spawn_from(co_await zygote_for_sandbox());
}

Task<std::unique_ptr<backend::Sandbox>> NativeSource::spawn_from(std::shared_ptr<Zygote> zygote) {
  SandboxParts parts;
  parts.zygote = zygote;
  if (host_->free_uids) parts.uid = UidPool::take(host_->free_uids);
  if (host_->cgroups) parts.cgroup = host_->cgroups->take(cgroup_limits(config_.resource_limits));
  StreamPair stream = stream_pair();
  std::vector<os::UniqueFd> joining;
  if (parts.cgroup) joining = parts.cgroup->open_for_joining();
  wire::SpawnRequest request = request_for(parts.uid ? parts.uid->uid() : 0);
  const os::UniqueFd network = zygote->take_network();
  request.has_network = network ? 1 : 0;
  // Before its processes, so that nothing can fail between them and their owner.
  auto sandbox = std::make_unique<NativeSandbox>(executor_, *this, random_id(),
                                                 std::move(stream.ours), std::move(parts));
  os::UniqueFd worker_requests = sandbox->worker_requests().take_far_end();
  std::vector<int> fds{stream.theirs.get(), worker_requests.get()};
  if (network) fds.push_back(network.get());
  for (const os::UniqueFd& file : joining) fds.push_back(file.get());
  // Also for a caller that was cancelled meanwhile: what is forked must have an owner, or its user
  // and its cgroup would be free before it has ended.
  sandbox->own(co_await shielded(zygote->fork(request, fds, host_->ready_limit)));
  sandbox->enter(Cgroup::Phase::preparing);
  stream.theirs.reset();
  worker_requests.reset();
  std::exception_ptr failure;
  try {
    co_await make_ready(*sandbox);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return sandbox;
  // The caller's place in a pool is free when this throws, so its processes have to be gone.
  sandbox->kill();
  co_await shielded(sandbox->exited());
  std::rethrow_exception(failure);
}

Task<> NativeSource::make_ready(NativeSandbox& sandbox) {
  sandbox.serve_workers();
  std::future<Differences> seen = look_at(sandbox);
  try {
    co_await sandbox.channel().await_ready(host_->ready_limit);
  } catch (const IncompleteRead&) {
    throw SpawnError(why_not_ready(sandbox, "the sandbox ended before it was ready"), {});
  } catch (const SpawnError& error) {
    throw SpawnError(why_not_ready(sandbox, error.what()), error.traceback);
  }
  if (seen.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    co_await on_thread(observers_, [](const std::stop_token&) {});  // comes after it in the line
  // While it made itself ready it may have had a file of Python's open.
  if (!seen.get().empty()) co_await check_posture(sandbox);
  if (is_stopped_) throw SpawnError("the source was closed", {});
  sandbox.enter(Cgroup::Phase::ready);
}

ExpectedPosture NativeSource::expected_of(const NativeSandbox& sandbox) const {
  const uid_t uid = sandbox.uid();
  ExpectedPosture expected;
  expected.uid = host_->users.uids ? host_->users.uids->first + uid : ::geteuid();
  expected.gid = host_->users.uids ? host_->users.uids->first + uid : ::getegid();
  expected.no_groups = host_->users.uids.has_value();
  expected.our_namespaces = host_->own_namespaces;
  if (sandbox.cgroup() != nullptr) {
    const std::filesystem::path& directory = sandbox.cgroup()->directories().front();
    expected.cgroup = directory.parent_path().filename() / directory.filename();
    expected.controllers = sandbox.cgroup()->controllers();
  }
  return expected;
}

// Before anybody's code is in it: what the kernel says, not what was intended. Its processes have
// given up by then whatever they will, and cannot get it back.
std::future<Differences> NativeSource::look_at(const NativeSandbox& sandbox) {
  // Its own handle: the sandbox may be gone before the thread is done.
  os::UniqueFd handle(::fcntl(sandbox.pidfd(), F_DUPFD_CLOEXEC, 0));
  if (!handle) throw OsError("duplicate a descriptor");
  const auto look = std::make_shared<std::packaged_task<Differences()>>(
      [pidfd = std::move(handle), expected = expected_of(sandbox)] {
        return differences_seen(
            pidfd.get(), [&](pid_t first) { return differences_of_sandbox(first, expected); });
      });
  asio::post(observers_, [look] { (*look)(); });
  return look->get_future();
}

Task<> NativeSource::check_posture(const NativeSandbox& sandbox) {
  std::future<Differences> seen = look_at(sandbox);
  co_await on_thread(observers_, [](const std::stop_token&) {});
  const Differences found = seen.get();
  if (found.empty()) co_return;
  throw SpawnError(in_words(found), {});
}

void NativeSource::make_worker(NativeSandbox& sandbox, WorkerRequest request) {
  if (is_closed_) return;
  background_.start("make a worker", fork_worker(sandbox.handle(), std::move(request)));
}

Task<> NativeSource::fork_worker(std::shared_ptr<NativeSandbox* const> sandbox,
                                 WorkerRequest wanted) {
  std::string failure;
  try {
    if (*sandbox != nullptr) co_await let_worker_in(**sandbox, std::move(wanted.fds));
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty()) {
    // Init tries only a few times, and whatever we lack may be there again in a moment. Whoever
    // closes this source does not wait for that.
    constexpr std::chrono::milliseconds a_moment(50);
    co_await asio::steady_timer(executor_, a_moment).async_wait(asio::use_awaitable);
  }
  if (*sandbox == nullptr || has_ended((*sandbox)->pidfd())) co_return;
  if (!failure.empty()) {
    log::warning("a sandbox gets no worker", {{"sandbox", (*sandbox)->id()}, {"error", failure}});
    (*sandbox)->worker_requests().say_failed(wanted.number, failure);
  }
  (*sandbox)->serve_workers();
}

// The sandbox may be gone at any time; then so is the process that was to fork the worker.
Task<> NativeSource::let_worker_in(const NativeSandbox& sandbox, std::vector<os::UniqueFd> ends) {
  const std::shared_ptr<Zygote> zygote = sandbox.zygote();
  const ExpectedPosture expected = expected_of(sandbox);
  const os::UniqueFd first(::fcntl(sandbox.pidfd(), F_DUPFD_CLOEXEC, 0));
  if (!first) throw OsError("duplicate a descriptor");
  StreamPair gate = stream_pair();
  wire::SpawnRequest request = request_for(sandbox.uid());
  request.kind = wire::SpawnKind::worker;
  std::vector<os::UniqueFd> joining;
  if (sandbox.cgroup() != nullptr) joining = sandbox.cgroup()->open_for_joining();
  std::vector<int> fds{first.get(), gate.theirs.get()};
  for (const auto* more : {&ends, &joining})
    for (const os::UniqueFd& fd : *more) fds.push_back(fd.get());
  const os::UniqueFd entering = co_await shielded(zygote->fork(request, fds, host_->ready_limit));
  // Init shall see the end of who has the others.
  ends.clear();
  gate.theirs.reset();
  DescriptorStream stream(executor_, std::move(gate.ours));
  std::array<char, 1> byte{};
  // At its end before, it has told init why.
  if (co_await stream.read_some(byte) == 0) co_return;
  const Differences found = co_await on_thread(observers_, [&](const std::stop_token&) {
    return differences_seen(entering.get(), [&](pid_t pid) {
      return differences_of_newcomer(pid, pid_of(first.get()), expected);
    });
  });
  if (!found.empty()) throw SpawnError(in_words(found), {});
  co_await stream.write({byte.data(), byte.size()});
}

Task<> NativeSource::wait_and_clear(SandboxParts remains) {
  // To the end, even when its owner is in a hurry: what is not cleared now stays.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const Ending ending(executor_, remains.pidfd.get(), remains.cgroup.get());
  co_await process_ended(remains.pidfd.get());
  if (remains.network) remains.zygote->keep_network(std::move(remains.network));
  if (remains.cgroup && remains.cgroup->has_cache_to_trim())
    co_await on_thread(trimmer(), [&](const std::stop_token&) { remains.cgroup->trim_cache(); });
}

asio::thread_pool& NativeSource::trimmer() {
  if (trimmer_) return *trimmer_;
  trimmer_.emplace(1);
  asio::post(*trimmer_, [] { ::setpriority(PRIO_PROCESS, 0, later); });
  return *trimmer_;
}

void NativeSource::bury(SandboxParts remains) {
  // Its zygote ended long ago, and so did it.
  if (is_closed_) return;
  background_.start("clear a sandbox away", wait_and_clear(std::move(remains)));
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
  while (spawning_ > 0) co_await spawn_ended_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_await background_.close();
  is_closed_ = true;
}

}  // namespace hearth::native
