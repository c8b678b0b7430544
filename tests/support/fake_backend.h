// tests/support/fake_backend.h: sandboxes that exist in memory only, whose starts, failures and
// ends a test decides. Beside the tests with real ones.
#pragma once

#include "backend/backend.h"
#include "tests/support/scripted_stream.h"
#include "wire/decode.h"
#include "wire/encode.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::test {

class FakeBackend;

class FakeSandbox : public backend::Sandbox {
 public:
  FakeSandbox(const asio::any_io_executor& executor, FakeBackend& backend, std::string id,
              std::unique_ptr<ScriptedStream> stream, ScriptedStream& handle);
  ~FakeSandbox() override;
  FakeSandbox(const FakeSandbox&) = delete;
  FakeSandbox& operator=(const FakeSandbox&) = delete;

  const std::string& id() const override { return id_; }
  SandboxChannel& channel() override { return channel_; }
  void kill() override;
  Task<> exited() override;
  bool memory_limit_hit() const override { return hit_memory_limit; }
  Task<backend::SandboxUsage> usage() const override { co_return backend::SandboxUsage{}; }
  Task<> set_limits(blueprint::ResourceLimits wanted) override {
    if (refuses_limits) throw Error("no limits here");
    limits.push_back(wanted);
    co_return;
  }
  Task<> probe() override {
    ++probes;
    if (is_ill) throw Error("not what it was");
    co_return;
  }

  // Its processes end now.
  void end();
  bool has_ended() const { return ended_; }
  // Its side of the conversation, and what it does after each request.
  ScriptedStream& stream() { return stream_; }
  std::function<void()> on_request = [] {};

  bool was_killed = false;
  bool is_ill = false;
  bool refuses_limits = false;
  bool hit_memory_limit = false;
  bool resets_cleanly = true;
  bool answers_reset = true;
  int probes = 0;
  int resets = 0;
  std::vector<blueprint::ResourceLimits> limits;

 private:
  void hear();
  void run_turn();

  FakeBackend& backend_;
  std::string id_;
  ScriptedStream& stream_;
  SandboxChannel channel_;
  bool ended_ = false;
  asio::steady_timer ending_;  // never expires; cancelled at the end
};

class FakeBackend : public backend::Backend {
 public:
  explicit FakeBackend(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  Task<std::unique_ptr<backend::SandboxSource>> open(std::string blueprint,
                                                     std::vector<blueprint::Mount> mounts,
                                                     OnProgress on_progress) override;
  // Nothing is built or kept.
  Task<std::string> build(std::string blueprint, backend::Freshness, OnProgress) override {
    co_return blueprint;
  }
  Task<std::vector<backend::Built>> list() override { co_return std::vector<backend::Built>(); }
  Task<std::vector<std::string>> prune(backend::Prune) override {
    co_return std::vector<std::string>();
  }
  Task<std::vector<backend::Finding>> examine() override {
    co_return std::vector<backend::Finding>();
  }
  std::uint64_t usual_max_uses() const override { return 1; }

  // What a script prints; without, turns are not answered.
  std::function<std::string(const std::string& script)> answer;
  // Spawns wait for this many permissions.
  bool holds_spawns = false;
  std::size_t permitted = 0;
  void permit(std::size_t count) {
    permitted += count;
    gate_.cancel();
  }
  bool holds_opens = false;      // until they are cancelled
  bool hangs_in_spawn = false;   // where it cannot be cancelled, until the source is stopped
  std::size_t immortal = 0;      // of the next to be killed
  std::size_t never_ready = 0;   // of the next spawns
  std::size_t failing = 0;       // of the next spawns
  bool ends_when_killed = true;  // otherwise a test says when
  std::string build_failure;     // of the next open
  std::size_t spawned = 0;
  std::size_t most_alive = 0;  // spawning included
  std::size_t spawning = 0;
  std::vector<FakeSandbox*> alive;  // whose processes have not ended
  std::vector<FakeSandbox*> existing;
  std::vector<std::string> opened;
  std::vector<blueprint::Mount> mounted;  // of the last open
  bool is_stopped = false;
  std::size_t closed = 0;

  FakeSandbox* find(const std::string& id) const {
    for (FakeSandbox* sandbox : existing)
      if (sandbox->id() == id) return sandbox;
    return nullptr;
  }

 private:
  friend class FakeSandbox;
  class Source;

  Task<std::unique_ptr<backend::Sandbox>> spawn();
  void count() { most_alive = std::max(most_alive, alive.size() + spawning); }

  asio::any_io_executor executor_;
  asio::steady_timer gate_{executor_, asio::steady_timer::time_point::max()};
};

inline FakeSandbox::FakeSandbox(const asio::any_io_executor& executor, FakeBackend& backend,
                                std::string id, std::unique_ptr<ScriptedStream> stream,
                                ScriptedStream& handle)
    : backend_(backend),
      id_(std::move(id)),
      stream_(handle),
      channel_(std::move(stream)),
      ending_(executor, asio::steady_timer::time_point::max()) {
  stream_.on_heard = [this] { hear(); };
  backend_.alive.push_back(this);
  backend_.existing.push_back(this);
}

inline FakeSandbox::~FakeSandbox() {
  if (!ended_) std::erase(backend_.alive, this);
  std::erase(backend_.existing, this);
}

inline void FakeSandbox::kill() {
  was_killed = true;
  if (backend_.immortal > 0) {
    --backend_.immortal;
    throw Error("it cannot be killed");
  }
  if (backend_.ends_when_killed) end();
}

inline void FakeSandbox::end() {
  if (std::exchange(ended_, true)) return;
  std::erase(backend_.alive, this);
  stream_.hang_up();
  ending_.cancel();
}

inline Task<> FakeSandbox::exited() {
  while (!ended_) {
    co_await ending_.async_wait(asio::as_tuple(asio::use_awaitable));
    const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (task.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
  }
}

inline void FakeSandbox::hear() {
  on_request();
  if (backend_.answer && stream_.heard.starts_with("{\"type\":\"run\"")) return run_turn();
  if (stream_.heard.find("\"type\":\"reset\"") == std::string::npos) return;
  stream_.heard.clear();
  ++resets;
  if (!answers_reset) return;
  stream_.say(resets_cleanly
                  ? "{\"type\":\"reset_done\",\"clean\":true,\"message\":\"\"}\n"
                  : "{\"type\":\"reset_done\",\"clean\":false,\"message\":\"a file stays\"}\n");
}

inline void FakeSandbox::run_turn() {
  std::string line = std::exchange(stream_.heard, {});
  line.pop_back();  // its newline
  const wire::Request request = wire::decode_request(line);
  const auto& run = std::get<wire::RunRequest>(request);
  wire::ScriptDone done;
  done.started = true;
  stream_.say(
      wire::encode(wire::Event{run.execution_id, wire::Stdout{backend_.answer(run.script)}}) +
      wire::encode(wire::Event{run.execution_id, done}));
}

class FakeBackend::Source : public backend::SandboxSource {
 public:
  explicit Source(FakeBackend& backend) : backend_(backend) {}
  Task<std::unique_ptr<backend::Sandbox>> spawn() override { return backend_.spawn(); }
  void stop() override {
    backend_.is_stopped = true;
    backend_.gate_.cancel();
  }
  Task<> close() override {
    ++backend_.closed;
    co_return;
  }

 private:
  FakeBackend& backend_;
};

inline Task<std::unique_ptr<backend::SandboxSource>> FakeBackend::open(
    std::string sandbox, std::vector<blueprint::Mount> mounts, OnProgress on_progress) {
  mounted = std::move(mounts);
  if (on_progress) on_progress("building " + sandbox);
  if (!build_failure.empty()) throw Error(std::exchange(build_failure, {}));
  while (holds_opens) co_await gate_.async_wait(asio::use_awaitable);
  opened.push_back(std::move(sandbox));
  co_return std::make_unique<Source>(*this);
}

inline Task<std::unique_ptr<backend::Sandbox>> FakeBackend::spawn() {
  struct Counted {
    explicit Counted(FakeBackend& owner) : backend(owner) {
      ++backend.spawning;
      backend.count();
    }
    ~Counted() { --backend.spawning; }
    FakeBackend& backend;
  };
  std::optional<Counted> counted(*this);
  if (hangs_in_spawn) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    while (!is_stopped) co_await gate_.async_wait(asio::as_tuple(asio::use_awaitable));
    throw backend::SpawnError("stopped");
  }
  while (holds_spawns && permitted == 0) {
    co_await gate_.async_wait(asio::as_tuple(asio::use_awaitable));
    const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (task.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
  }
  if (holds_spawns) --permitted;
  if (failing > 0) {
    --failing;
    throw backend::SpawnError("no more room");
  }
  if (never_ready > 0) {
    --never_ready;
    throw backend::ReadyTimeout("not ready within 30 s");
  }
  ++spawned;
  counted.reset();
  auto stream = std::make_unique<ScriptedStream>(executor_);
  ScriptedStream& handle = *stream;
  auto sandbox = std::make_unique<FakeSandbox>(executor_, *this, "fake-" + std::to_string(spawned),
                                               std::move(stream), handle);
  count();
  co_return sandbox;
}

}  // namespace hearth::test
