#include "native/zygote.h"

#include "async/alarm.h"
#include "base/error.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "channel/sandbox_channel.h"
#include "native/launcher_process.h"
#include "native/pidfd.h"
#include "os/packet.h"
#include "os/pairs.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace hearth::native {
namespace {

namespace json = boost::json;

constexpr std::size_t max_report_bytes = std::size_t{128} << 10;  // while it loads
constexpr int most_reports = 20'000;                              // one for each tool and module
constexpr std::size_t max_reply_bytes = 256;
static_assert(sizeof(wire::SpawnReply) < max_reply_bytes);
constexpr std::size_t max_last_words_bytes = std::size_t{16} << 10;
// Each costs a megabyte. So many can make some thousand sandboxes a second.
constexpr unsigned most_twins = 8;

os::SocketPair make_control() {
  os::SocketPair control = os::make_socket_pair(SOCK_SEQPACKET);
  // Only ours: Python waits in a blocking read.
  ::fcntl(control.ours.get(), F_SETFL, O_NONBLOCK);
  return control;
}

os::Pipe make_output() {
  os::Pipe output = os::make_pipe();
  ::fcntl(output.read_end.get(), F_SETFL, O_NONBLOCK);
  return output;
}

std::string string_in(const json::object& message, std::string_view key) {
  const json::value* value = message.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

json::object parse(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return !error && value.is_object() ? value.as_object() : json::object();
}

}  // namespace

Zygote::Zygote(const asio::any_io_executor& executor, const backend::Programs& programs,
               const LaunchPlan& plan, const ZygoteFilters& filters, CgroupTree::Lease cgroup)
    : executor_(executor),
      cgroup_(std::move(cgroup)),
      most_twins_(std::clamp(std::thread::hardware_concurrency(), 1U, most_twins)),
      twin_is_idle_(executor),
      output_(new Output{asio::posix::stream_descriptor(executor), {}}) {
  os::SocketPair control = make_control();
  os::Pipe output = make_output();
  twins_.push_back(
      std::make_shared<Twin>(asio::posix::stream_descriptor(executor, control.ours.release())));
  output_->pipe.assign(output.read_end.release());
  // Each zygote reads the filter from its start, and they may start at the same time.
  const os::UniqueFd sandbox_filter(
      ::open(("/proc/self/fd/" + std::to_string(filters.sandbox)).c_str(), O_RDONLY | O_CLOEXEC));
  if (!sandbox_filter) throw OsError("open the seccomp filter");
  std::vector<PlacedFd> fds{{output.write_end.get(), STDOUT_FILENO},
                            {output.write_end.get(), STDERR_FILENO},
                            {control.theirs.get(), zygote_control_fd},
                            {sandbox_filter.get(), zygote_seccomp_fd},
                            {filters.own, launcher_seccomp_fd}};
  std::vector<os::UniqueFd> joining;
  if (cgroup_) joining = cgroup_->open_for_joining();
  if (cgroup_) refused_forks_before_ = cgroup_->refused_forks();
  std::vector<std::string> arguments;
  for (const os::UniqueFd& file : joining) {
    const int place = launcher_cgroup_fd + static_cast<int>(arguments.size() / 2);
    fds.push_back({file.get(), place});
    arguments.insert(arguments.end(), {"--cgroup-fd", std::to_string(place)});
  }
  arguments.insert(arguments.end(), plan.arguments.begin(), plan.arguments.end());
  launcher_ = start_launcher(programs.launcher, std::move(arguments), fds);
}

Zygote::~Zygote() { end(); }

void Zygote::end() {
  ended_ = true;
  const pid_t launcher = std::exchange(launcher_, 0);
  if (launcher == 0) return;
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
}

bool Zygote::alive() const {
  siginfo_t info{};
  return !ended_ &&
         ::waitid(P_PID, static_cast<id_t>(launcher_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

void Zygote::keep_network(os::UniqueFd network) {
  constexpr std::size_t most = 256;
  if (networks_.size() < most) networks_.push_back(std::move(network));
}

os::UniqueFd Zygote::take_network() {
  if (networks_.empty()) return {};
  os::UniqueFd network = std::move(networks_.back());
  networks_.pop_back();
  return network;
}

Task<> Zygote::ready() {
  try {
    co_await await_loaded();
  } catch (const backend::SpawnError& error) {
    const std::string limit = limit_reached();
    if (limit.empty()) throw;
    throw backend::SpawnError(loading_ + ": " + limit + ": " + error.what(), error.traceback);
  }
}

Task<> Zygote::await_loaded() {
  std::vector<char> buffer(max_report_bytes);
  for (int count = 0; count < most_reports; ++count) {
    // What is loaded may say more than this process can read: time limits and other sandboxes
    // have their turn.
    co_await asio::post(executor_, asio::use_awaitable);
    const Reply reply = co_await receive(*twins_.front(), buffer);
    if (reply.text.empty()) fail_as_ended();
    const json::object message = parse(reply.text);
    const std::string type = string_in(message, "type");
    if (type == "ready") co_return;
    if (type == "failed")
      throw backend::SpawnError(string_in(message, "message"), string_in(message, "traceback"));
    if (type != "loading") throw backend::SpawnError("the zygote sent a malformed message");
    loading_ = string_in(message, "what");
  }
  throw backend::SpawnError("the zygote reported more than there is to load");
}

std::string Zygote::limit_reached() const {
  if (!cgroup_) return {};
  if (cgroup_->memory_limit_hit())
    return "loading needs more than " + std::to_string(cgroup_->limits().memory_bytes >> 20) +
           " MB of memory (resource_limits.memory_mb, while loading at least " +
           std::to_string(least_loading_memory_mb) + ")";
  if (cgroup_->refused_forks() > refused_forks_before_)
    return "loading needs more than " + std::to_string(cgroup_->limits().pids) +
           " processes and threads (resource_limits.pids_limit, while loading at least " +
           std::to_string(least_loading_pids) + ")";
  return {};
}

void Zygote::set_limits(const CgroupLimits& limits) {
  if (cgroup_) cgroup_->set_limits(limits);
}

Task<Zygote::Reply> Zygote::receive(Twin& twin, std::span<char> buffer) {
  while (true) {
    if (std::optional<os::Packet> packet = os::receive_packet(twin.control.native_handle(), buffer))
      co_return Reply{std::string(packet->text),
                      packet->fds.empty() ? os::UniqueFd() : std::move(packet->fds.front())};
    co_await twin.control.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::use_awaitable);
  }
}

std::shared_ptr<Zygote::Twin> Zygote::idle_twin() const {
  const auto found =
      std::find_if(twins_.begin(), twins_.end(), [](const auto& twin) { return !twin->is_busy; });
  return found == twins_.end() ? nullptr : *found;
}

void Zygote::let_next_in() {
  if (waiting_ > 0 && idle_twin()) twin_is_idle_.notify_one();
}

Task<os::UniqueFd> Zygote::fork(wire::SpawnRequest request, const std::vector<int>& fds,
                                std::chrono::milliseconds limit) {
  bool had_to_wait = false;
  while (true) {
    const std::shared_ptr<Twin> twin = idle_twin();
    // First come, first served: a task that was woken for this twin may not have run yet.
    if (!twin || (waiting_ > 0 && !had_to_wait)) {
      had_to_wait = true;
      ++waiting_;
      const ScopeExit left([this] { --waiting_; });
      co_await twin_is_idle_.wait();
      continue;
    }
    twin->is_busy = true;
    const ScopeExit released([this, twin] {
      twin->is_busy = false;
      let_next_in();
    });
    let_next_in();
    // Its exit ends the wait for its answer.
    const Alarm watchdog(executor_, limit, [this] {
      log::error("zygote does not answer and is killed", {});
      end();
    });
    if (had_to_wait && twins_.size() + twins_coming_ < most_twins_)
      co_await add_twin(*twin, request);
    std::optional<Forked> forked = co_await ask(*twin, request, fds);
    if (!forked) {
      log::warning("zygote's twin exited", {});
      std::erase(twins_, twin);
    } else if (forked->pidfd) {
      co_return std::move(forked->pidfd);
    } else {
      throw backend::SpawnError(std::string("fork from the zygote: ") +
                                std::strerror(forked->error));
    }
  }
}

// If it fails, requests only wait longer.
Task<> Zygote::add_twin(Twin& of, wire::SpawnRequest request) {
  ++twins_coming_;
  const ScopeExit came([this] { --twins_coming_; });
  std::optional<os::SocketPair> control;
  try {
    control = make_control();
  } catch (const OsError&) {
    co_return;
  }
  request.kind = wire::SpawnKind::twin;
  const std::vector<int> fds{control->theirs.get()};
  const std::optional<Forked> forked = co_await ask(of, request, fds);
  if (forked && forked->error == ENOTSUP) most_twins_ = twins_.size();
  if (!forked || forked->error != 0) co_return;
  auto twin = std::make_shared<Twin>(asio::posix::stream_descriptor(executor_));
  twin->control.assign(control->ours.get());
  control->ours.release();
  twins_.push_back(std::move(twin));
  let_next_in();
}

Task<std::optional<Zygote::Forked>> Zygote::ask(Twin& twin, wire::SpawnRequest request,
                                                const std::vector<int>& fds) {
  request.number = ++requests_;
  const std::string_view bytes(reinterpret_cast<const char*>(&request), sizeof request);
  if (!alive()) fail_as_ended();
  // One request at a time is on its way, so there is always room.
  if (!os::send_packet(twin.control.native_handle(), bytes, fds)) {
    if (&twin == twins_.front().get()) fail_as_ended();
    co_return std::nullopt;
  }
  try {
    co_return co_await answer_to(request, twin);
  } catch (...) {
    end();
    throw;
  }
}

Task<Zygote::Forked> Zygote::answer_to(const wire::SpawnRequest& request, Twin& twin) {
  std::array<char, max_reply_bytes> buffer;  // NOLINT: filled by receive
  Reply reply = co_await receive(twin, buffer);
  if (reply.text.empty()) fail_as_ended();
  wire::SpawnReply answer{};
  if (reply.text.size() != sizeof answer)
    throw backend::SpawnError("the zygote sent a malformed message");
  std::memcpy(&answer, reply.text.data(), sizeof answer);
  if (answer.number != request.number)
    throw backend::SpawnError("the zygote sent a malformed message");
  // The kernel drops what there is no room for.
  if (answer.error == 0 && !reply.fd && request.kind != wire::SpawnKind::twin)
    throw backend::SpawnError(
        "a process was forked, but this process has no file descriptor left for it");
  // What it is will be killed. A tool that took the zygote over may name any process it can reach.
  if (reply.fd && !is_below(reply.fd.get()))
    throw backend::SpawnError("the zygote answered with a process that is no sandbox's");
  co_return Forked{std::move(reply.fd), static_cast<int>(answer.error)};
}

void Zygote::fail_as_ended() {
  ended_ = true;
  while (output_->read()) {
  }
  std::string words = output_->last_words;
  while (words.ends_with('\n')) words.pop_back();
  throw ZygoteEnded(words.empty() ? "the zygote has ended" : words);
}

Task<> Zygote::drain(std::shared_ptr<Output> output) {
  do {
    co_await output->pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::use_awaitable);
  } while (output->read());
}

bool Zygote::Output::read() {
  std::array<char, 4096> text;  // NOLINT: filled by read
  const ssize_t size = ::read(pipe.native_handle(), text.data(), text.size());
  if (size <= 0) return size < 0 && errno == EINTR;
  last_words.append(text.data(), static_cast<std::size_t>(size));
  if (last_words.size() > max_last_words_bytes)
    last_words.erase(0, last_words.size() - max_last_words_bytes);
  return true;
}

}  // namespace hearth::native
