#include "execution/script_executor.h"

#include "async/within.h"
#include "base/id.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <utility>

namespace hearth::execution {
namespace {

// Init stops at the limit and then says so; this is room for what it says.
constexpr std::uint64_t output_slack_bytes = 64 << 10;

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
    while (!over_) {
      SandboxChannel::Received received = co_await executor_.channel_.receive();
      take(received.event, received.line_bytes);
    }
  }

  Task<> cancel() {
    cancel_wanted_ = true;
    if (result_.started) co_await send_cancel();
  }

  void deadline_passed() { facts_.host_deadline_passed = true; }
  void lose(std::string why) {
    result_.detail = std::move(why);
    over_ = true;
  }

  ExecutionResult conclude() {
    // Asked only about what was killed: reading the counter takes as long as many a script.
    const bool was_killed = !facts_.done || facts_.done->ending == wire::Ending::signalled;
    facts_.memory_limit_hit = was_killed && ((facts_.done && facts_.done->out_of_memory) ||
                                             executor_.controls_.memory_limit_hit());
    result_.verdict = verdict_of(facts_);
    result_.sandbox_usable = facts_.done.has_value() && !facts_.output_limit_exceeded;
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
    if (const auto* done = std::get_if<wire::ScriptDone>(&event.body)) {
      facts_.done = *done;
      over_ = true;
    } else {
      counted_bytes_ += line_bytes;
      if (counted_bytes_ > request_.max_output_bytes + output_slack_bytes) {
        facts_.output_limit_exceeded = true;
        return lose("the sandbox said more than the output limit allows");
      }
    }
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
  std::uint64_t counted_bytes_ = 0;
  bool over_ = false;
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
  try {
    co_await within(limit, turn.exchange());
  } catch (const DeadlineExceeded&) {
    turn.deadline_passed();
  } catch (const wire::ProtocolError& error) {
    turn.lose(std::string("the sandbox broke the protocol: ") + error.what());
  } catch (const Error& error) {
    turn.lose(error.what());
  }
  co_return turn.conclude();
}

Task<> ScriptExecutor::cancel() {
  if (running_ != nullptr) co_await running_->cancel();
}

}  // namespace hearth::execution
