#include "execution/script_executor.h"

#include "async/within.h"
#include "base/id.h"
#include "base/log.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

namespace hearth::execution {
namespace {

// Init stops at the limit and then says so; this is room for what it says.
constexpr std::uint64_t output_slack_bytes = 64 << 10;

// What lies in the stream already is there within this.
constexpr std::chrono::milliseconds overdue_patience{20};

// Puts each event where the caller will look for it.
struct Collector {
  ExecutionResult& result;

  void operator()(wire::Stdout& event) const { result.stdout_text += event.text; }
  void operator()(wire::Stderr& event) const { result.stderr_text += event.text; }
  void operator()(wire::Log& event) const { result.logs.push_back(std::move(event)); }
  void operator()(wire::Intermediate& event) const {
    result.intermediates.push_back(std::move(event));
  }
  void operator()(wire::Display& event) const { result.displays.push_back(std::move(event)); }
  void operator()(wire::FinalResult& event) const { result.result = std::move(event.data); }
  void operator()(wire::ScriptError& event) const { result.error = std::move(event); }
  void operator()(wire::ScriptDone& /*event*/) const {}
  void operator()(wire::Ready& /*event*/) const {}
  void operator()(wire::ResetDone& /*event*/) const {}
  void operator()(wire::Pong& /*event*/) const {}
  void operator()(wire::FileWritten& /*event*/) const {}
};

}  // namespace

// What one run() keeps while it is on its way; it lives in run()'s frame.
class ScriptExecutor::Turn {
 public:
  Turn(ScriptExecutor& executor, wire::RunRequest request, OnEvent on_event)
      : executor_(executor), request_(std::move(request)), on_event_(std::move(on_event)) {
    executor_.running_ = this;
  }
  ~Turn() { executor_.running_ = nullptr; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Task<> exchange() {
    co_await executor_.channel_.send(request_);
    result_.started = true;
    if (cancel_wanted_) co_await send_cancel();
    co_await hear();
  }

  Task<> hear() {
    while (!over_) {
      SandboxChannel::Received received = co_await executor_.channel_.receive();
      ++heard_;
      take(received.event, received.line_bytes);
    }
  }
  std::uint64_t heard() const { return heard_; }

  Task<> cancel() {
    cancel_wanted_ = true;
    if (result_.started) co_await send_cancel();
  }

  void deadline_passed() { facts_.host_deadline_passed = true; }
  void kill() {
    was_killed_ = true;
    executor_.controls_.kill();
  }
  void lose(std::string why) {
    result_.detail = std::move(why);
    over_ = true;
  }

  ExecutionResult conclude() {
    if (!facts_.done) facts_.memory_limit_hit = executor_.controls_.memory_limit_hit();
    deliver_held_back();
    result_.verdict = verdict_of(facts_);
    result_.sandbox_usable =
        facts_.done.has_value() && !facts_.output_limit_exceeded && !was_killed_;
    if (facts_.done) {
      result_.started = facts_.done->started;
      result_.exit_code = facts_.done->exit_code;
      result_.signal = facts_.done->signal;
      result_.state_lost = facts_.done->state_lost;
      result_.usage = facts_.done->usage;
    }
    if (!result_.sandbox_usable) executor_.controls_.kill();
    return std::move(result_);
  }

 private:
  Task<> send_cancel() {
    co_await executor_.channel_.send(wire::CancelRequest{request_.execution_id});
  }

  void take(wire::Event& event, std::size_t line_bytes) {
    if (event.execution_id != request_.execution_id) return take_foreign(event);
    if (auto* done = std::get_if<wire::ScriptDone>(&event.body)) {
      learn_end(*done);
    } else {
      counted_bytes_ += line_bytes;
      if (counted_bytes_ > request_.max_output_bytes + output_slack_bytes) {
        facts_.output_limit_exceeded = true;
        return lose("the sandbox said more than the output limit allows");
      }
    }
    deliver_held_back();
    const auto* error = std::get_if<wire::ScriptError>(&event.body);
    if (error != nullptr && error->name == wire::process_killed) {
      held_back_ = std::move(event);
    } else {
      deliver(event);
    }
  }

  // Who was killed for its memory is known only here where the counter is the host's.
  void learn_end(wire::ScriptDone& done) {
    // Asked only about what was killed: reading the counter takes as long as many a script.
    const bool was_killed = done.ending == wire::Ending::signalled && done.signal == SIGKILL;
    if (was_killed && !done.out_of_memory)
      done.out_of_memory = executor_.controls_.memory_limit_hit();
    facts_.memory_limit_hit = done.out_of_memory;
    facts_.done = done;
    over_ = true;
    if (!held_back_ || !was_killed || !done.out_of_memory) return;
    auto& error = std::get<wire::ScriptError>(held_back_->body);
    error.name = "MemoryLimit";
    error.message = "The script needed more memory than it may use and was killed";
  }

  void deliver_held_back() {
    if (std::optional<wire::Event> event = std::exchange(held_back_, std::nullopt)) deliver(*event);
  }

  void deliver(wire::Event& event) {
    if (on_event_) on_event_(event);
    std::visit(Collector{result_}, event.body);
  }

  // An event of no turn is about the sandbox itself, and only its failures come while a turn runs.
  void take_foreign(const wire::Event& event) {
    ++result_.foreign_events;
    const auto* error = std::get_if<wire::ScriptError>(&event.body);
    if (event.execution_id.empty() && error != nullptr) lose(error->message);
  }

  ScriptExecutor& executor_;
  wire::RunRequest request_;
  OnEvent on_event_;
  ExecutionResult result_;
  TurnFacts facts_;
  std::optional<wire::Event> held_back_;  // that it was killed, until it is known what for
  std::uint64_t heard_ = 0;               // events
  std::uint64_t counted_bytes_ = 0;
  bool over_ = false;
  bool was_killed_ = false;
  bool cancel_wanted_ = false;
};

ScriptExecutor::ScriptExecutor(SandboxChannel& channel, SandboxControls controls,
                               ExecutorOptions options)
    : channel_(channel), controls_(std::move(controls)), options_(options) {}

Task<ExecutionResult> ScriptExecutor::run(wire::RunRequest request, OnEvent on_event) {
  if (request.execution_id.empty()) request.execution_id = random_id();
  // Init refuses more than a year; until it has said so, the clock must not overflow.
  const std::chrono::duration<double> script_limit(std::min(request.timeout_seconds, 3.2e7));
  const auto limit =
      std::chrono::ceil<std::chrono::nanoseconds>(script_limit) + options_.host_grace;
  Turn turn(*this, std::move(request), std::move(on_event));
  bool is_overdue = false;
  try {
    co_await within(limit, turn.exchange());
  } catch (const DeadlineExceeded&) {
    is_overdue = true;
  } catch (const wire::ProtocolError& error) {
    turn.lose(std::string("the sandbox broke the protocol: ") + error.what());
  } catch (const Error& error) {
    turn.lose(error.what());
  }
  if (is_overdue) co_await hear_overdue(turn);
  co_return turn.conclude();
}

// The clock may have run out while the caller was busy with what it had heard already. So what the
// sandbox said in time is heard to its end; and it can say no more once it is killed.
Task<> ScriptExecutor::hear_overdue(Turn& turn) try {
  turn.deadline_passed();
  if (co_await hears_end(turn)) co_return;
  turn.kill();
  std::uint64_t heard_before = 0;
  do {
    heard_before = turn.heard();
    if (co_await hears_end(turn)) co_return;
  } while (turn.heard() != heard_before);
} catch (const Error& error) {
  log::debug("an overdue sandbox says no more", {{"error", error.what()}});
}

Task<bool> ScriptExecutor::hears_end(Turn& turn) try {
  co_await within(overdue_patience, turn.hear());
  co_return true;
} catch (const DeadlineExceeded&) {
  co_return false;
}

Task<> ScriptExecutor::cancel() {
  if (running_ != nullptr) co_await running_->cancel();
}

}  // namespace hearth::execution
