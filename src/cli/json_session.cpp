#include "cli/json_session.h"

#include "async/task_group.h"
#include "base/error.h"

#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <ostream>
#include <utility>

namespace hearth::cli {
namespace {

// A request goes on to the sandbox as a line of at most 8 MiB, with the environment of the lease.
constexpr std::size_t most_line_bytes = std::size_t{7} << 20;
constexpr std::size_t most_waiting = 1000;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Whether these are {"cancel": true}; RequestRefused if they are something close to it.
bool asks_to_cancel(const std::vector<wire::JsonMember>& members) {
  const bool names_it = std::any_of(members.begin(), members.end(),
                                    [](const auto& member) { return member.key == "cancel"; });
  if (names_it && (members.size() != 1 || members[0].text != "true"))
    throw api::RequestRefused({api::ProblemCode::invalid_request,
                               "a cancellation is {\"cancel\": true} and nothing else"});
  return names_it;
}

}  // namespace

JsonSession::JsonSession(const asio::any_io_executor& executor, ScriptRunner& runner,
                         std::ostream& out)
    : executor_(executor),
      runner_(runner),
      out_(out),
      input_(STDIN_FILENO, most_line_bytes),
      changed_(executor) {}

Task<> JsonSession::run() {
  TaskGroup reading(executor_);
  reading.start("requests", read_lines());
  std::exception_ptr failure;
  try {
    co_await answer_all();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await reading.close();
  if (failure) std::rethrow_exception(failure);
}

Task<> JsonSession::read_lines() {
  while (std::optional<LineInput::Line> line = co_await input_.next()) {
    if (line->too_long) {
      wait({api::Problem{api::ProblemCode::too_large, "a line may have at most 7 MiB"}});
    } else if (!is_blank(line->text)) {
      co_await take(line->text);
    }
  }
  has_ended_ = true;
  changed_.notify_all();
}

Task<> JsonSession::take(std::string_view line) {
  bool is_cancellation = false;
  try {
    std::vector<wire::JsonMember> members = api::parse_members(line);
    is_cancellation = asks_to_cancel(members);
    if (!is_cancellation) wait({api::parse_run_request(std::move(members))});
  } catch (const api::RequestRefused& error) {
    wait({error.problem});
  }
  if (is_cancellation) co_await cancel();
}

void JsonSession::wait(Waiting item) {
  if (waiting_.size() >= most_waiting)
    item.what = api::Problem{api::ProblemCode::capacity, "too many requests are waiting"};
  waiting_.push_back(std::move(item));
  changed_.notify_all();
}

// Lines have an order: what stands before a cancellation may not have begun, but it is meant.
Task<> JsonSession::cancel() {
  if (is_answering_) {
    co_await runner_.cancel();
  } else if (!waiting_.empty()) {
    waiting_.front().is_cancelled = true;
  }
}

Task<> JsonSession::answer_all() {
  while (true) {
    co_await changed_.wait_until([this] { return !waiting_.empty() || has_ended_; });
    if (waiting_.empty()) co_return;
    Waiting item = std::move(waiting_.front());
    waiting_.pop_front();
    is_answering_ = true;
    co_await answer(std::move(item));
    is_answering_ = false;
  }
}

Task<> JsonSession::answer(Waiting item) {
  if (const auto* problem = std::get_if<api::Problem>(&item.what)) co_return refuse(*problem);
  try {
    co_await runner_.run_step({.request = std::get<api::RunRequest>(std::move(item.what)),
                               .asked_at = item.since,
                               .is_cancelled = item.is_cancelled});
  } catch (const Error&) {
    // The next one may fare better: the sandbox is made anew.
    refuse(api::problem_of(std::current_exception()));
  }
}

void JsonSession::refuse(const api::Problem& problem) {
  out_ << api::error_line(problem) << std::flush;
}

}  // namespace hearth::cli
