#include "cli/standard_streams.h"

#include "base/error.h"
#include "base/log.h"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace hearth::cli {
namespace {

using wire::Ending;

constexpr std::chrono::milliseconds last_words_patience{500};  // as in init

bool is_its_own(Ending ending) {
  return ending == Ending::completed || ending == Ending::failed || ending == Ending::signalled;
}

}  // namespace

StandardStreams::StandardStreams(const asio::any_io_executor& executor, Kind kind)
    : kind_(kind),
      input_(STDIN_FILENO),
      output_(STDOUT_FILENO),
      errors_(STDERR_FILENO),
      tasks_(executor) {}

void StandardStreams::describe(execution::TurnRequest& request) const {
  request.input_stays_open = true;
  if (kind_.has_terminal) request.terminal = size_of_terminal(STDIN_FILENO);
}

execution::OnOutput StandardStreams::on_output() {
  if (!kind_.takes_output) return {};
  return [this](execution::OutputBytes piece) { return write(piece); };
}

Task<> StandardStreams::write(execution::OutputBytes piece) {
  co_await (piece.is_stderr ? errors_ : output_).write(piece.bytes);
}

void StandardStreams::heard(const wire::Event& event, execution::Turn& turn) {
  if (std::holds_alternative<wire::Started>(event.body)) begin(turn);
  if (const auto* done = std::get_if<wire::ScriptDone>(&event.body)) {
    is_over_ = true;
    ended_by_itself_ = is_its_own(done->ending);
    bound_wait();
  }
}

void StandardStreams::begin(execution::Turn& turn) {
  if (kind_.has_terminal) {
    raw_.emplace(STDIN_FILENO);
    tasks_.start("follow the size of the terminal", follow_size(turn));
  }
  tasks_.start("pass standard input on", feed(turn));
}

Task<> StandardStreams::feed(execution::Turn& turn) {
  while (true) {
    const std::string piece = co_await input_.next();
    if (piece.empty()) break;
    if (!co_await turn.write_input(piece)) co_return;
  }
  co_await turn.end_input();
}

// It may have changed since the command was asked for.
Task<> StandardStreams::follow_size(execution::Turn& turn) {
  asio::signal_set changes(co_await asio::this_coro::executor, SIGWINCH);
  while (true) {
    turn.resize(size_of_terminal(STDIN_FILENO));
    co_await changes.async_wait(asio::use_awaitable);
  }
}

void StandardStreams::hurry() {
  if (!std::exchange(is_hurried_, true)) bound_wait();
}

void StandardStreams::bound_wait() {
  if (is_over_ && (is_hurried_ || !ended_by_itself_))
    tasks_.start("wait for the reader of output", abandon_soon());
}

Task<> StandardStreams::abandon_soon() {
  asio::steady_timer patience(co_await asio::this_coro::executor, last_words_patience);
  co_await patience.async_wait(asio::use_awaitable);
  abandon_output();
}

void StandardStreams::abandon_output() {
  output_.abandon();
  errors_.abandon();
}

Task<> StandardStreams::close() {
  co_await tasks_.close();
  const bool was_raw = raw_.has_value();
  raw_.reset();
  if (::isatty(STDOUT_FILENO) != 1) co_return;
  try {
    if (was_raw && !ended_by_itself_) co_await output_.write(plain_screen);
    if (kind_.ends_line && output_.inside_line()) co_await output_.write("\n");
  } catch (const Error& error) {
    log::debug("terminal takes no more", {{"error", error.what()}});
  }
}

bool StandardStreams::lost_reader() const { return output_.failure() == EPIPE; }

bool StandardStreams::lost_output() const {
  return output_.failure() != 0 && output_.failure() != EPIPE;
}

std::string StandardStreams::failure() const { return std::strerror(output_.failure()); }

}  // namespace hearth::cli
