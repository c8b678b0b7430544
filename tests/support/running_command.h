// tests/support/running_command.h: a command that runs beside the test, with its standard streams
// in the test's hands.
#pragma once

#include "async/event.h"
#include "base/id.h"
#include "execution/script_executor.h"
#include "tests/support/run_task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::test {

struct CommandInTest {
  std::string input = {};
  bool input_stays_open = false;
  bool reads_output = true;   // false: the output comes as events
  bool holds_output = false;  // takes none of it until release()
};

class RunningCommand {
 public:
  // `sandbox` must outlive it.
  RunningCommand(asio::io_context& loop, backend::Sandbox& sandbox, wire::ExecRequest request,
                 CommandInTest streams = {},
                 execution::ExecutorOptions options = {std::chrono::seconds(30)})
      : loop_(loop),
        executor_(sandbox, options),
        released_(loop.get_executor()),
        is_released_(!streams.holds_output) {
    id = request.execution_id = random_id();
    execution::CommandIo io{streams.input, streams.input_stays_open, {}};
    if (streams.reads_output)
      io.on_output = [this](execution::OutputBytes piece) { return take(piece); };
    asio::co_spawn(loop,
                   executor_.run(
                       std::move(request), [this](const auto& e) { note(e); }, io),
                   [this](std::exception_ptr failure, execution::ExecutionResult result) {
                     failure_ = std::move(failure);
                     result_ = std::move(result);
                   });
  }
  ~RunningCommand() {
    release();
    if (!is_over()) run_task(loop_, executor_.cancel());
    run_until([this] { return is_over(); });
  }
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  // A test that waits for what never comes is ended by its time limit.
  template <typename Condition>
  void run_until(const Condition& holds) {
    while (!holds()) {
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(10));
    }
  }
  void wait_for_start() {
    run_until([this] { return has_started || is_over(); });
  }
  void wait_for_output(std::string_view text) {
    run_until([this, text] { return output.find(text) != std::string::npos || is_over(); });
  }
  execution::ExecutionResult finished() {
    run_until([this] { return is_over(); });
    if (failure_) std::rethrow_exception(failure_);
    return *result_;
  }
  bool is_over() const { return result_.has_value(); }
  bool write(std::string_view bytes) { return run_task(loop_, executor_.write_input(bytes)); }
  void end_input() { run_task(loop_, executor_.end_input()); }
  // The reader goes on.
  void release() {
    is_released_ = true;
    released_.notify_all();
  }
  void fail_to_read() { reader_fails_ = true; }
  execution::ScriptExecutor& executor() { return executor_; }

  std::string output;  // so far
  std::string errors;
  bool has_started = false;
  bool is_done = false;  // the sandbox has said so
  std::uint64_t pid = 0;
  std::string id;

 private:
  void note(const wire::Event& event) {
    if (const auto* started = std::get_if<wire::Started>(&event.body)) {
      has_started = true;
      pid = started->pid;
    }
    if (std::holds_alternative<wire::ScriptDone>(event.body)) is_done = true;
  }
  Task<> take(execution::OutputBytes piece) {
    co_await released_.wait_until([this] { return is_released_; });
    if (reader_fails_) throw Error("the reader is gone");
    (piece.is_stderr ? errors : output) += piece.bytes;
  }

  asio::io_context& loop_;
  execution::ScriptExecutor executor_;
  AsyncEvent released_;
  bool is_released_;
  bool reader_fails_ = false;
  std::exception_ptr failure_;
  std::optional<execution::ExecutionResult> result_;
};

}  // namespace hearth::test
