#include "api/event_stream.h"

#include "api/object_writer.h"
#include "api/result.h"
#include "wire/encode.h"

#include <variant>

namespace hearth::api {
namespace {

bool is_of_the_script(const wire::EventBody& body) {
  return std::holds_alternative<wire::Stdout>(body) || std::holds_alternative<wire::Stderr>(body) ||
         std::holds_alternative<wire::Log>(body) ||
         std::holds_alternative<wire::Intermediate>(body) ||
         std::holds_alternative<wire::Display>(body) ||
         std::holds_alternative<wire::FinalResult>(body) ||
         std::holds_alternative<wire::ScriptError>(body);
}

}  // namespace

std::string EventStream::start(const Execution& execution) {
  std::string line;
  ObjectWriter object(line);
  object.text("type", "start");
  object.text("execution_id", execution.id);
  if (execution.session_id)
    object.text("session_id", *execution.session_id);
  else
    object.null("session_id");
  if (!execution.file.empty()) object.text("file", execution.file);
  return finished_line(std::move(line), 0);
}

std::string EventStream::event(const wire::Event& event, double at) {
  if (!is_of_the_script(event.body)) return {};
  std::string line = wire::encode(event);
  line.resize(line.size() - 2);  // the brace and the newline
  return finished_line(std::move(line), at);
}

std::string EventStream::end(const execution::ExecutionResult& result, const Execution& execution,
                             double at) {
  std::string line;
  ObjectWriter object(line);
  object.text("type", "end");
  object.json("result", result_json(result, execution, {.with_streams = false}));
  return finished_line(std::move(line), at);
}

// The members that all lines have close the object.
std::string EventStream::finished_line(std::string open_object, double at) {
  std::string rest;
  ObjectWriter object(rest);
  object.integer("seq", seq_++);
  object.seconds("at", at);
  object.close();
  open_object += ',';
  open_object.append(rest, 1);
  return open_object + '\n';
}

}  // namespace hearth::api
