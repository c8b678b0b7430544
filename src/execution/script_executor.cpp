#include "execution/script_executor.h"

#include "async/shielded.h"
#include "async/within.h"
#include "base/id.h"
#include "base/joined.h"
#include "base/log.h"
#include "wire/protocol_error.h"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::execution {
namespace {

// Init stops at the limit and then reports it; this is room for its report.
constexpr std::uint64_t output_slack_bytes = 64 << 10;

constexpr auto no_limit = std::chrono::nanoseconds::max();
constexpr std::string_view missing_secret = "MissingSecret";  // what init calls its refusal

// What is already in the stream arrives within this time.
constexpr std::chrono::milliseconds overdue_patience{20};

// Puts each event into its field of the result.
struct Collector {
  ExecutionResult& result;

  void operator()(wire::Stdout& event) const {
    result.stdout_text += event.text;
    note_order(false, event.text.size());
  }
  void operator()(wire::Stderr& event) const {
    result.stderr_text += event.text;
    note_order(true, event.text.size());
  }
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
  void operator()(wire::FileAnswer& /*event*/) const {}
  void operator()(wire::Window& /*event*/) const {}
  void operator()(wire::Started& event) const { result.pid = event.pid; }
  void operator()(wire::End& /*event*/) const {}
  void operator()(wire::CommandList& /*event*/) const {}
  void operator()(wire::Position& /*event*/) const {}

  void note_order(bool is_stderr, std::size_t bytes) const {
    std::vector<OutputRun>& order = result.output_order;
    if (order.empty() || order.back().is_stderr != is_stderr) order.push_back({is_stderr, 0});
    order.back().bytes += bytes;
  }
};

// A request, and the host's own bounds on it.
struct Asked {
  std::string execution_id;
  double timeout_seconds;
  std::uint64_t max_output_bytes;
  std::uint64_t memory_mb;  // 0: not known
  wire::Request request;
  std::vector<std::string> places;  // where secrets that it lacks were looked for
};

// Although the task was cancelled.
Task<> completed(Task<> work) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await shielded(std::move(work));
  co_await asio::this_coro::throw_if_cancelled(true);
}

std::uint64_t memory_mb_of(const wire::RunRequest& request) { return request.limits.memory_mb; }
std::uint64_t memory_mb_of(const wire::ExecRequest& /*request*/) { return 0; }

Asked asked(auto request, const std::map<std::string, std::string>& places_of_secrets) {
  if (request.execution_id.empty()) request.execution_id = random_id();
  std::vector<std::string> places;
  for (const std::string& name : request.secrets) {
    const auto place = places_of_secrets.find(name);
    if (place != places_of_secrets.end() && !request.env.contains(name))
      places.push_back(place->second);
  }
  return {request.execution_id,  request.timeout_seconds, request.max_output_bytes,
          memory_mb_of(request), std::move(request),      std::move(places)};
}

}  // namespace

// The state of one run(). It lives in the frame of that coroutine.
class ScriptExecutor::Exchange {
 public:
  Exchange(ScriptExecutor& executor, const asio::any_io_executor& loop, Asked asked,
           OnEvent on_event, CommandIo io)
      : executor_(executor),
        asked_(std::move(asked)),
        on_event_(std::move(on_event)),
        events_(channel(), [this](const wire::Event& event) { return wants(event); }),
        unwanted_before_(channel().unwanted_events()) {
    executor_.running_ = this;
    if (auto* command = std::get_if<wire::ExecRequest>(&asked_.request))
      streams_.emplace(loop, channel(), std::move(io), *command);
  }
  ~Exchange() { executor_.running_ = nullptr; }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const std::string& execution_id() const { return asked_.execution_id; }
  bool is_over() const { return over_; }

  Task<> run() {
    co_await send_request();
    if (streams_) streams_->begin();
    co_await hear();
  }

  Task<> hear() {
    while (!over_) {
      SandboxChannel::Received received = co_await events_.receive();
      ++heard_;
      take(received.event, received.line_bytes);
    }
  }
  std::uint64_t heard() const { return heard_; }

  // Null if it is no command.
  CommandStreams* streams() { return streams_ ? &*streams_ : nullptr; }

  // Nothing waits for its end any more.
  void abort() {
    if (!streams_) return kill();
    channel().post(wire::CancelRequest{asked_.execution_id});
    is_left_behind_ = true;
  }
  void deadline_passed() { facts_.host_deadline_passed = true; }
  void kill() {
    was_killed_ = true;
    executor_.sandbox_.kill();
  }
  void lose(std::string why) {
    result_.detail = std::move(why);
    over_ = true;
  }

  ExecutionResult conclude() {
    result_.foreign_events += channel().unwanted_events() - unwanted_before_;
    if (!facts_.done) facts_.memory_limit_hit = executor_.sandbox_.memory_limit_hit();
    deliver_held_back();
    result_.verdict = verdict_of(facts_);
    result_.sandbox_usable =
        facts_.done.has_value() && !facts_.output_limit_exceeded && !was_killed_;
    if (facts_.done) {
      result_.started = facts_.done->started;
      result_.exit_code = facts_.done->exit_code;
      result_.signal = facts_.done->signal;
      result_.called_exit = facts_.done->called_exit;
      result_.state_lost = facts_.done->state_lost;
      result_.usage = facts_.done->usage;
      result_.truncated = facts_.done->truncated;
    }
    if (!result_.sandbox_usable && !is_left_behind_) executor_.sandbox_.kill();
    return std::move(result_);
  }

 private:
  SandboxChannel& channel() { return executor_.sandbox_.channel(); }

  // Its own, and what is about the sandbox itself. During a turn that can only be a failure.
  bool wants(const wire::Event& event) const {
    return event.execution_id == asked_.execution_id ||
           (event.execution_id.empty() && std::holds_alternative<wire::ScriptError>(event.body));
  }

  Task<> send_request() {
    const Mutex::Lock lock = co_await executor_.writing_.lock();
    co_await channel().send(asked_.request);
    result_.started = true;
  }

  void take(wire::Event& event, std::size_t line_bytes) {
    if (event.execution_id != asked_.execution_id)
      return lose(std::get<wire::ScriptError>(event.body).message);
    if (auto* done = std::get_if<wire::ScriptDone>(&event.body)) {
      learn_end(*done);
    } else {
      counted_bytes_ += line_bytes;
      if (counted_bytes_ > most_bytes()) {
        facts_.output_limit_exceeded = true;
        return lose("the sandbox sent more than the output limit allows");
      }
    }
    deliver_held_back();
    auto* error = std::get_if<wire::ScriptError>(&event.body);
    if (error != nullptr && !asked_.places.empty() && error->name == missing_secret)
      error->message += " (looked for in " + joined(asked_.places, "; ") + ')';
    if (error != nullptr && error->name == wire::process_killed) {
      held_back_ = std::move(event);
    } else {
      deliver(event);
    }
  }

  std::uint64_t most_bytes() const {
    const auto* script = std::get_if<wire::RunRequest>(&asked_.request);
    const bool counts_displays = script == nullptr || script->output == wire::OutputMode::fail;
    return asked_.max_output_bytes + output_slack_bytes +
           (counts_displays ? 0 : wire::max_display_bytes);
  }

  // Where the counter is the host's, only the host knows that memory was the reason for a kill.
  void learn_end(wire::ScriptDone& done) {
    // Asked only after a kill: reading the counter takes as long as a short script.
    const bool was_killed = done.ending == wire::Ending::signalled && done.signal == SIGKILL;
    if (was_killed && !done.out_of_memory)
      done.out_of_memory = executor_.sandbox_.memory_limit_hit();
    facts_.memory_limit_hit = done.out_of_memory;
    facts_.done = done;
    over_ = true;
    if (!held_back_ || !was_killed || !done.out_of_memory) return;
    auto& error = std::get<wire::ScriptError>(held_back_->body);
    error.name = "MemoryLimit";
    error.message = "The script needed more memory than it may use and was killed";
    if (const std::uint64_t limit_mb = asked_.memory_mb; limit_mb != 0)
      error.message +=
          ": more than " + std::to_string(limit_mb) + " MB (resource_limits.memory_mb)";
  }

  void deliver_held_back() {
    if (std::optional<wire::Event> event = std::exchange(held_back_, std::nullopt)) deliver(*event);
  }

  void deliver(wire::Event& event) {
    if (on_event_) on_event_(event);
    std::visit(Collector{result_}, event.body);
  }

  ScriptExecutor& executor_;
  Asked asked_;
  OnEvent on_event_;
  SandboxChannel::Listener events_;
  std::uint64_t unwanted_before_;
  std::optional<CommandStreams> streams_;
  ExecutionResult result_;
  TurnFacts facts_;
  std::optional<wire::Event> held_back_;  // a kill, until its reason is known
  std::uint64_t heard_ = 0;               // events
  std::uint64_t counted_bytes_ = 0;
  bool over_ = false;
  bool was_killed_ = false;
  bool is_left_behind_ = false;
};

ScriptExecutor::ScriptExecutor(backend::Sandbox& sandbox, ExecutorOptions options)
    : sandbox_(sandbox), options_(std::move(options)) {}

Task<ExecutionResult> ScriptExecutor::run(WireRequest request, OnEvent on_event, CommandIo io) {
  Asked wanted = std::visit(
      [this](auto& one) { return asked(std::move(one), options_.places_of_secrets); }, request);
  // Init refuses more than a year; until it has said so, the clock must not overflow.
  const std::chrono::duration<double> script_limit(std::min(wanted.timeout_seconds, 3.2e7));
  const auto limit =
      wanted.timeout_seconds == 0
          ? no_limit
          : std::chrono::ceil<std::chrono::nanoseconds>(script_limit) + options_.host_grace;
  const asio::any_io_executor loop = co_await asio::this_coro::executor;
  Exchange exchange(*this, loop, std::move(wanted), std::move(on_event), std::move(io));
  std::exception_ptr abort;
  try {
    co_await converse(exchange, limit);
    if (exchange.streams() != nullptr) co_await exchange.streams()->drained();
  } catch (...) {
    abort = std::current_exception();
  }
  if (abort) exchange.abort();
  ExecutionResult result = exchange.conclude();
  if (exchange.streams() != nullptr) co_await completed(exchange.streams()->close());
  if (writing_.is_locked()) co_await completed(cancel_sent());
  if (abort) std::rethrow_exception(abort);
  co_return result;
}

Task<> ScriptExecutor::converse(Exchange& exchange, std::chrono::nanoseconds limit) {
  bool is_overdue = false;
  try {
    if (limit == no_limit) {
      co_await exchange.run();
    } else {
      co_await within(limit, exchange.run());
    }
  } catch (const DeadlineExceeded&) {
    is_overdue = true;
  } catch (const wire::ProtocolError& error) {
    exchange.lose(std::string("the sandbox broke the protocol: ") + error.what());
  } catch (const Error& error) {
    exchange.lose(error.what());
  }
  if (is_overdue) co_await hear_overdue(exchange);
}

// A cancel() may still be writing to the sandbox, which the caller is free to destroy after run().
Task<> ScriptExecutor::cancel_sent() { const Mutex::Lock lock = co_await writing_.lock(); }

Task<bool> ScriptExecutor::write_input(std::string_view bytes) {
  CommandStreams* const streams = running_ == nullptr ? nullptr : running_->streams();
  co_return streams != nullptr&& co_await streams->write(bytes);
}

Task<> ScriptExecutor::end_input() {
  CommandStreams* const streams = running_ == nullptr ? nullptr : running_->streams();
  if (streams != nullptr) co_await streams->end_input();
}

// The clock may have run out while the caller was busy with earlier events. So everything that the
// sandbox sent in time is heard; after the kill it can send no more.
Task<> ScriptExecutor::hear_overdue(Exchange& exchange) try {
  exchange.deadline_passed();
  if (co_await hears_end(exchange)) co_return;
  exchange.kill();
  std::uint64_t heard_before = 0;
  do {
    heard_before = exchange.heard();
    if (co_await hears_end(exchange)) co_return;
  } while (exchange.heard() != heard_before);
} catch (const Error& error) {
  log::debug("stream of an overdue sandbox ended", {{"error", error.what()}});
}

Task<bool> ScriptExecutor::hears_end(Exchange& exchange) try {
  co_await within(overdue_patience, exchange.hear());
  co_return true;
} catch (const DeadlineExceeded&) {
  co_return false;
}

Task<> ScriptExecutor::cancel() try {
  if (running_ == nullptr) co_return;
  const std::string execution_id = running_->execution_id();
  const Mutex::Lock lock = co_await writing_.lock();
  const bool still_runs =
      running_ != nullptr && running_->execution_id() == execution_id && !running_->is_over();
  if (still_runs) co_await sandbox_.channel().send(wire::CancelRequest{execution_id});
} catch (const Error& error) {
  log::debug("sandbox ended before it could be told to cancel", {{"error", error.what()}});
}

}  // namespace hearth::execution
