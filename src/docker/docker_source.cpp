#include "docker/docker_source.h"

#include "async/cleanup.h"
#include "async/within.h"
#include "backend/await_ready.h"
#include "backend/layout.h"
#include "backend/mount_check.h"
#include "backend/writable_mount.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "docker/container_stream.h"
#include "docker/docker_sandbox.h"
#include "docker/json_path.h"
#include "os/disks.h"
#include "os/kill_processes.h"
#include "os/read_file.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace hearth::docker {
namespace {

namespace json = boost::json;
using std::chrono::steady_clock;

constexpr std::chrono::seconds quick_limit{10};
// From the end of a container's stream until the engine says why it ended.
constexpr std::chrono::seconds fate_limit{3};
// A removal that takes longer goes on, but is not waited for.
constexpr std::chrono::seconds removal_patience{10};
constexpr std::chrono::milliseconds longest_pause{2000};
// For a container to exit by the engine's signal alone.
constexpr std::chrono::milliseconds exit_patience{500};
// How long a container whose creation was not answered may still appear.
constexpr std::chrono::seconds late_birth{10};

Task<> sleep(std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

// `groups`: the text of /proc/<pid>/cgroup. The engine's API cannot change this limit.
void lift_disk_reads_of(const std::string& container_id, const std::string& groups) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(container_id) == std::string::npos) continue;
    const std::string group = line.substr(line.find('/'));
    if (line.find(":blkio:") != std::string::npos)
      os::lift_disk_reads("/sys/fs/cgroup/blkio" + group);
    if (line.starts_with("0::")) os::lift_disk_reads("/sys/fs/cgroup" + group);
  }
}

// The engine may be on another machine, so its pids are not used: a process belongs to the
// container if its cgroup has the container's name.
void kill_processes_of(const std::string& container_id) {
  constexpr std::size_t whole_id = 64;
  if (container_id.size() < whole_id) return;  // could be part of any cgroup's name
  constexpr std::size_t most_bytes = std::size_t{64} << 10;
  os::kill_processes([&](pid_t pid) {
    try {
      const std::string groups =
          os::read_file("/proc/" + std::to_string(pid) + "/cgroup", most_bytes);
      if (groups.find(container_id) == std::string::npos) return false;
      lift_disk_reads_of(container_id, groups);
      return true;
    } catch (const Error&) {
      return false;  // it has ended
    }
  });
}

std::string why_not_ready(const Container& container, const std::string& last_words) {
  if (container.out_of_memory) return "the sandbox's memory does not suffice for its start";
  std::string why = "the sandbox ended before it was ready";
  if (container.exit_code) why += " (exit code " + std::to_string(*container.exit_code) + ')';
  if (last_words.empty()) return why;
  why += ": " + last_words;
  while (why.ends_with('\n')) why.pop_back();
  return why;
}

}  // namespace

DockerSource::DockerSource(const asio::any_io_executor& executor,
                           std::shared_ptr<DockerEngine> engine, std::string image,
                           blueprint::SandboxConfig config, std::vector<blueprint::Mount> mounts,
                           Rebuild rebuild)
    : executor_(executor),
      engine_(std::move(engine)),
      rebuild_(std::move(rebuild)),
      background_(executor) {
  order_.image = std::move(image);
  order_.runtime = engine_->options().runtime;
  order_.seccomp_profile = engine_->seccomp_profile();
  order_.host_cores = engine_->cores();
  order_.limits_swap = engine_->limits_swap();
  order_.disks = disks_to_limit(config.resource_limits, engine_->options().address);
  order_.has_recursive_read_only = engine_->has_recursive_read_only();
  order_.has_new_network_settings = has_new_network_settings(engine_->kernel());
  order_.labels = engine_->labels(config.name);
  order_.config = std::move(config);
  order_.mounts = backend::resolve_mounts(
      std::move(mounts), {engine_->options().address.socket, engine_->options().state_dir.string()},
      backend::Mounter::engine);
  backend::require_writable(order_.mounts, {.group = sandbox_gid});
}

void DockerSource::show_tools(std::string directory) {
  order_.mounts.push_back(
      {.source = std::move(directory), .target = backend::layout::tools, .read_only = true});
}

Task<std::unique_ptr<backend::Sandbox>> DockerSource::spawn() {
  if (is_closed_) throw backend::SpawnError("no more sandboxes are made");
  const auto container = std::make_shared<Container>(executor_, engine_->unique_name());
  living_.insert(container);
  try {
    co_return co_await or_clean_up(make(container), remove_and_await_end(container));
  } catch (const EngineError& error) {
    throw backend::SpawnError(error.what());
  } catch (const EngineUnreachable& error) {
    throw backend::SpawnError(error.what());
  }
}

Task<> DockerSource::create(Container& container) {
  container.is_uncertain = true;
  try {
    const EngineAnswer created =
        co_await engine_->client().call({.method = "POST",
                                         .path = "/containers/create?name=" + container.name,
                                         .body = container_body(order_, container.user.uid()),
                                         .limit = engine_->options().ready_limit});
    container.id = id_at(created.body, {"Id"});
  } catch (const EngineError&) {
    container.is_uncertain = false;  // refused: there is none
    throw;
  }
  container.is_uncertain = false;
  if (container.id.empty()) throw EngineUnreachable("the Docker engine named no new container");
}

// An image may be pruned while it has no container.
Task<> DockerSource::create_anew(Container& container) {
  bool is_missing = false;
  try {
    co_await create(container);
  } catch (const EngineError& error) {
    is_missing = error.status == 404 && rebuild_;
    if (!is_missing) throw;
  }
  if (!is_missing) co_return;
  log::warning("image is missing and is built again",
               {{"blueprint", order_.config.name}, {"image", order_.image}});
  order_.image = co_await rebuild_();
  if (is_closed_) throw backend::SpawnError("no more sandboxes are made");
  co_await create(container);
}

Task<std::unique_ptr<backend::Sandbox>> DockerSource::make(std::shared_ptr<Container> container) {
  EngineClient& client = engine_->client();
  const std::chrono::milliseconds limit = engine_->options().ready_limit;
  Mutex::Lock permit = co_await engine_->permit_to_start();
  if (is_closed_) throw backend::SpawnError("no more sandboxes are made");
  container->user = co_await engine_->take_uid();
  co_await create_anew(*container);
  const std::string path = "/containers/" + container->id;
  // Both before it starts: its output and its exit must not be missed.
  HttpConnection::Hijacked connection = co_await client.attach(container->id, quick_limit);
  std::unique_ptr<HttpConnection> waiting = co_await client.begin(
      {.method = "POST", .path = path + "/wait?condition=next-exit", .limit = quick_limit});
  if (is_closed_) throw backend::SpawnError("no more sandboxes are made");
  background_.start("watch a container", watch(container, std::move(waiting)));
  auto stream = std::make_unique<ContainerStream>(std::move(connection), [container]() -> Task<> {
    try {
      co_await within(fate_limit, Container::ended(container));
    } catch (const DeadlineExceeded&) {
      container->note_ended();
    }
  });
  ContainerStream& words = *stream;
  auto sandbox = std::make_unique<DockerSandbox>(*this, container, std::move(stream));
  co_await client.call({.method = "POST", .path = path + "/start", .limit = limit});
  permit = {};
  try {
    sandbox->note_python((co_await backend::await_ready(sandbox->channel(), limit)).python);
  } catch (const IncompleteRead&) {
    throw backend::SpawnError(why_not_ready(*container, words.last_words()));
  }
  co_await sandbox->check_posture();
  co_return sandbox;
}

Task<> DockerSource::watch(std::shared_ptr<Container> container,
                           std::unique_ptr<HttpConnection> waiting) {
  const ScopeExit ended([&container] { container->note_ended(); });
  try {
    std::array<char, 1024> chunk;  // NOLINT: filled by read_body
    std::string body;
    while (const std::size_t size = co_await waiting->read_body(chunk))
      body.append(chunk.data(), size);
    boost::system::error_code failed;
    const json::value status = json::parse(body, failed);
    if (const std::int64_t* code = at(status, {"StatusCode"}).if_int64())
      container->exit_code = *code;
  } catch (const EngineUnreachable&) {  // NOLINT: the engine is gone, and with it the container
  }
  waiting.reset();
  // If Hearth removed it, the reason is known.
  if (!container->is_being_removed) co_await learn_fate(*container);
}

Task<> DockerSource::learn_fate(Container& container) try {
  const EngineAnswer found = co_await engine_->client().call(
      {.path = "/containers/" + container.id + "/json", .limit = fate_limit, .accepted = {404}});
  container.out_of_memory = at(found.body, {"State", "OOMKilled"}) == json::value(true);
} catch (const Error& error) {
  log::debug("container ended for an unknown reason",
             {{"container", container.id}, {"error", error.what()}});
}

void DockerSource::remove_in_background(const std::shared_ptr<Container>& container) {
  if (is_closed_ || std::exchange(container->is_being_removed, true)) return;
  background_.start("remove a container", remove(container));
  if (!container->id.empty()) background_.start("end a container", insist(container));
}

// One that was created may run. A failed spawn is told only after its end: the caller's place in a
// pool is free then.
Task<> DockerSource::remove_and_await_end(std::shared_ptr<Container> container) {
  remove_in_background(container);
  if (!container->id.empty()) co_await Container::ended(container);
}

// The engine signals only the container's init and waits for its exit. Init needs CPU time to exit,
// and a script may have left it none. So all processes of the container are killed, if they are on
// this machine.
Task<> DockerSource::insist(std::shared_ptr<Container> container) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  while (!container->has_ended()) {
    try {
      co_await within(exit_patience, Container::ended(container));
    } catch (const DeadlineExceeded&) {
      kill_processes_of(container->id);
    }
  }
}

// True if the container does not exist any more.
Task<bool> DockerSource::try_to_remove(const Container& container) try {
  const EngineAnswer answer =
      co_await engine_->client().call({.method = "DELETE",
                                       .path = "/containers/" + container.name + "?force=1&v=1",
                                       .limit = quick_limit,
                                       .accepted = {404}});
  co_return answer.status == 404 || answer.status < 300;
} catch (const EngineError&) {
  co_return false;  // 409: in progress; 500: a busy device or the like, which passes
} catch (const EngineUnreachable&) {
  co_return false;
}

Task<> DockerSource::remove(std::shared_ptr<Container> container) {
  // Not cancellable: what is not removed now stays.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const steady_clock::time_point begun = steady_clock::now();
  std::optional<steady_clock::time_point> gone_since;
  std::chrono::milliseconds pause{100};
  while (true) {
    const bool was_uncertain = container->is_uncertain;
    const bool is_gone = co_await try_to_remove(*container);
    if (is_gone) container->note_ended();
    if (is_gone && !gone_since) gone_since = steady_clock::now();
    if (is_gone && (!was_uncertain || steady_clock::now() - *gone_since > late_birth)) {
      living_.erase(container);
      co_return;
    }
    const bool is_too_late = steady_clock::now() - begun > removal_patience;
    if (is_too_late) container->note_ended();
    if (is_closed_ && !is_gone && is_too_late) {
      log::warning("container could not be removed; the next start retries",
                   {{"container", container->name}});
      container->note_ended();
      co_return;
    }
    co_await sleep(pause);
    pause = std::min(pause * 2, longest_pause);
  }
}

Task<> DockerSource::close() {
  // Including those that are in use or being started.
  const std::set<std::shared_ptr<Container>> left = living_;
  for (const std::shared_ptr<Container>& container : left) remove_in_background(container);
  is_closed_ = true;
  co_await background_.close();
}

}  // namespace hearth::docker
