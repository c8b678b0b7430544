// api/event_stream.h: an execution as lines of JSON: its start, what happens, its end.
#pragma once

#include "api/execution.h"
#include "execution/execution_result.h"
#include "wire/messages.h"

#include <cstdint>
#include <string>

namespace hearth::api {

// `at` is in seconds since the start. Each line ends with a newline, and has a `seq` of its own.
class EventStream {
 public:
  std::string start(const Execution& execution);
  // Nothing for what only the protocol inside needs, such as `script_done`.
  std::string event(const wire::Event& event, double at);
  // The result, without what went out as events.
  std::string end(const execution::ExecutionResult& result, const Execution& execution, double at);

 private:
  std::string finished_line(std::string open_object, double at);

  std::uint64_t seq_ = 0;
};

}  // namespace hearth::api
