#include "api/result.h"

#include "api/media_type.h"
#include "api/object_writer.h"
#include "base/base64.h"
#include "base/id.h"
#include "base/json_escape.h"

#include <string_view>

namespace hearth::api {
namespace {

using execution::ExecutionResult;

void append_error(ObjectWriter& object, const ExecutionResult& result) {
  if (!result.error) return object.null("error");
  std::string json;
  ObjectWriter error(json);
  error.text("name", result.error->name);
  error.text("message", result.error->message);
  error.text("traceback", result.error->traceback);
  error.close();
  object.json("error", json);
}

void append_truncated(ObjectWriter& object, const std::optional<wire::Truncated>& output,
                      const Text& text) {
  if (!output && text.left_out_bytes == 0) return object.null("truncated");
  const wire::Truncated left_out = output.value_or(wire::Truncated{});
  std::string json;
  ObjectWriter truncated(json);
  truncated.integer("stdout_bytes", left_out.stdout_bytes);
  truncated.integer("stderr_bytes", left_out.stderr_bytes);
  truncated.integer("displays", left_out.displays);
  truncated.integer("events", left_out.events);
  truncated.integer("text_bytes", text.left_out_bytes);
  truncated.close();
  object.json("truncated", json);
}

void append_usage(ObjectWriter& object, const wire::Usage& used, double queued_seconds) {
  std::string json;
  ObjectWriter usage(json);
  usage.seconds("wall_seconds", used.wall_seconds);
  usage.seconds("queued_seconds", queued_seconds);
  usage.seconds("cpu_seconds", used.cpu_seconds);
  usage.integer("peak_memory_bytes", used.peak_memory_bytes);
  usage.integer("output_bytes", used.output_bytes);
  usage.close();
  object.json("usage", json);
}

void append_sandbox(ObjectWriter& object, const ExecutionResult& result,
                    const Execution& execution) {
  if (execution.sandbox_id.empty()) return object.null("sandbox");
  std::string json;
  ObjectWriter sandbox(json);
  sandbox.text("id", execution.sandbox_id);
  sandbox.text("checkout", name_of(execution.checkout));
  sandbox.json("degraded",
               json_array(result.degraded, [](std::string& out, const std::string& limit) {
                 append_json_string(out, limit);
               }));
  if (!result.python.version.empty()) {
    sandbox.text("python", result.python.version);
    if (!result.python.path.empty()) sandbox.text("python_path", result.python.path);
  }
  sandbox.close();
  object.json("sandbox", json);
}

void append_intermediates_and_logs(ObjectWriter& object, const ExecutionResult& result) {
  if (!result.intermediates.empty())
    object.json("intermediates",
                json_array(result.intermediates, [](std::string& out, const auto& item) {
                  ObjectWriter entry(out);
                  entry.text("label", item.label);
                  entry.json("data", item.data.text);
                  entry.close();
                }));
  if (!result.logs.empty())
    object.json("logs", json_array(result.logs, [](std::string& out, const auto& item) {
                  ObjectWriter entry(out);
                  entry.text("level", item.level);
                  entry.text("message", item.message);
                  entry.close();
                }));
}

// Every caller finds these, whatever happened.
void append_always(ObjectWriter& object, const ExecutionResult& result, const Execution& execution,
                   const ResultOptions& options) {
  object.text("execution_id", execution.id);
  if (execution.session_id)
    object.text("session_id", *execution.session_id);
  else
    object.null("session_id");
  object.text("verdict", name_of(result.verdict));
  object.boolean("started", result.started);
  if (result.exit_code)
    object.integer("exit_code", *result.exit_code);
  else
    object.null("exit_code");
  if (options.with_streams) {
    object.text("stdout", result.stdout_text);
    object.text("stderr", result.stderr_text);
  }
  const Text text = text_of(result, execution, options.max_text_bytes);
  object.text("text", text.text);
  std::string_view value = "null";
  for (const wire::Display& display : result.displays)
    if (display.is_value) value = display.data.text;
  object.json("value", value);
  append_error(object, result);
  append_truncated(object, result.truncated, text);
  append_usage(object, result.usage, execution.queued_seconds);
  append_sandbox(object, result, execution);
}

void append_resumed(ObjectWriter& object, const Resumed& resumed) {
  std::string json;
  ObjectWriter writer(json);
  writer.text("source", resumed.source);
  if (resumed.work_lost) writer.boolean("work_lost", true);
  if (!resumed.lost_variables.empty())
    writer.json("lost_variables",
                json_array(resumed.lost_variables, [](std::string& out, const std::string& name) {
                  append_json_string(out, name);
                }));
  writer.close();
  object.json("resumed", json);
}

std::string figures(const ExecutionResult& result) {
  std::vector<const wire::Display*> figures;
  for (const wire::Display& display : result.displays)
    if (!display.is_value) figures.push_back(&display);
  if (figures.empty()) return {};
  return json_array(figures,
                    [](std::string& out, const auto* display) { out += display->data.text; });
}

void append_file(std::string& out, const FoundFile& file) {
  ObjectWriter entry(out);
  entry.integer("size_bytes", file.size_bytes);
  entry.text("media_type", media_type_of(file.path));
  const auto in_base64 = [](std::string_view bytes) {
    std::string text;
    append_base64(text, bytes);
    return text;
  };
  if (!is_utf8(file.path)) entry.text("path_base64", in_base64(file.path));
  if (file.content) entry.text("base64", in_base64(*file.content));
  entry.close();
}

void append_files(ObjectWriter& object, const FoundFiles& found) {
  if (found.files.empty()) return;
  std::string json;
  ObjectWriter files(json);
  for (const FoundFile& file : found.files) {
    std::string entry;
    append_file(entry, file);
    files.json(file.path, entry);
  }
  files.close();
  object.json("files", json);
  if (found.omitted > 0) object.integer("files_omitted", found.omitted);
}

void append_if_any(ObjectWriter& object, const ExecutionResult& result, const Execution& execution,
                   const ResultOptions& options) {
  if (result.result) object.json("final_result", result.result->text);
  if (const std::string displays = figures(result); options.with_streams && !displays.empty())
    object.json("displays", displays);
  append_intermediates_and_logs(object, result);
  append_files(object, execution.files);
  if (result.signal) object.integer("signal", *result.signal);
  if (execution.is_step && (result.state_lost || !result.sandbox_usable))
    object.boolean("state_lost", true);
  if (execution.resumed) append_resumed(object, *execution.resumed);
  if (!result.detail.empty()) object.text("detail", result.detail);
  if (!execution.file.empty()) object.text("file", execution.file);
}

}  // namespace

std::string new_execution_id() { return "ex_" + random_id(); }

std::string result_json(const ExecutionResult& result, const Execution& execution,
                        const ResultOptions& options) {
  std::string json;
  ObjectWriter object(json);
  append_always(object, result, execution, options);
  append_if_any(object, result, execution, options);
  object.close();
  return json;
}

}  // namespace hearth::api
