// cli/json_session.h: `hearth run -i --json`: requests of a program, one a line, answered in their
// order; a cancellation at once.
#pragma once

#include "api/problem.h"
#include "api/run_request.h"
#include "async/event.h"
#include "async/task.h"
#include "cli/line_input.h"
#include "cli/script_runner.h"

#include <boost/asio/any_io_executor.hpp>

#include <deque>
#include <iosfwd>
#include <string>
#include <string_view>
#include <variant>

namespace hearth::cli {

class JsonSession {
 public:
  // What is referred to must outlive it.
  JsonSession(const asio::any_io_executor& executor, ScriptRunner& runner, std::ostream& out);

  // Until the input has ended and everything is answered.
  Task<> run();

 private:
  struct Waiting {
    std::variant<api::RunRequest, api::Problem> what;
    ScriptRunner::Clock::time_point since = ScriptRunner::Clock::now();
    bool is_cancelled = false;
  };

  Task<> read_lines();
  Task<> take(std::string_view line);
  void wait(Waiting item);
  Task<> cancel();
  Task<> answer_all();
  Task<> answer(Waiting item);
  void refuse(const api::Problem& problem);

  asio::any_io_executor executor_;
  ScriptRunner& runner_;
  std::ostream& out_;
  LineInput input_;
  std::deque<Waiting> waiting_;
  AsyncEvent changed_;
  bool is_answering_ = false;
  bool has_ended_ = false;
};

}  // namespace hearth::cli
