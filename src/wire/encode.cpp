#include "wire/encode.h"

#include "base/json_escape.h"
#include "wire/file_codec.h"
#include "wire/json_writer.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace hearth::wire {
namespace {

void append_json(std::string& out, std::string_view key, const JsonText& json) {
  append_key(out, key);
  out += json.text;
}

// `members` as append_key writes them, which begin with a comma.
void append_object(std::string& out, std::string_view members) {
  out += '{';
  out += members.substr(std::min<std::size_t>(members.size(), 1));
  out += '}';
}

void append_object(std::string& out, std::string_view key, std::string_view members) {
  append_key(out, key);
  append_object(out, members);
}

std::string members_of(const CommandInfo& command) {
  std::string members;
  append_member(members, "execution_id", command.execution_id);
  append_number(members, "pid", command.pid);
  append_member(members, "background", command.background);
  append_number(members, "output_bytes", command.output_bytes);
  if (command.ending) append_member(members, "ending", enum_name(*command.ending));
  if (command.exit_code) append_number(members, "exit_code", *command.exit_code);
  if (command.signal) append_number(members, "signal", *command.signal);
  return members;
}

void append_truncated(std::string& out, const Truncated& truncated) {
  std::string members;
  append_number(members, "stdout_bytes", truncated.stdout_bytes);
  append_number(members, "stderr_bytes", truncated.stderr_bytes);
  append_number(members, "displays", truncated.displays);
  append_number(members, "events", truncated.events);
  append_object(out, "truncated", members);
}

void append_limits(std::string& out, const KnownLimits& limits) {
  std::string members;
  append_number(members, "memory_mb", limits.memory_mb);
  append_number(members, "pids_limit", limits.pids_limit);
  append_number(members, "scratch_size_mb", limits.scratch_size_mb);
  append_object(out, "limits", members);
}

struct BodyWriter {
  std::string& out;

  void operator()(const Ready& event) const {
    if (event.protocol) append_number(out, "protocol", *event.protocol);
    append_member(out, "python", event.python);
    append_member(out, "harness", event.harness);
  }
  void operator()(const Stdout& event) const { append_member(out, "text", event.text); }
  void operator()(const Stderr& event) const { append_member(out, "text", event.text); }
  void operator()(const Log& event) const {
    append_member(out, "level", event.level);
    append_member(out, "message", event.message);
  }
  void operator()(const Intermediate& event) const {
    append_member(out, "label", event.label);
    append_json(out, "data", event.data);
  }
  void operator()(const Display& event) const {
    append_json(out, "data", event.data);
    if (event.is_value) append_member(out, "value", true);
  }
  void operator()(const FinalResult& event) const { append_json(out, "data", event.data); }
  void operator()(const ScriptError& event) const {
    append_member(out, "name", event.name);
    append_member(out, "message", event.message);
    append_member(out, "traceback", event.traceback);
  }
  void operator()(const ScriptDone& event) const {
    append_member(out, "ending", enum_name(event.ending));
    append_member(out, "started", event.started);
    if (event.exit_code) append_number(out, "exit_code", *event.exit_code);
    if (event.signal) append_number(out, "signal", *event.signal);
    append_member(out, "called_exit", event.called_exit);
    append_member(out, "state_lost", event.state_lost);
    append_member(out, "out_of_memory", event.out_of_memory);
    append_number(out, "wall_seconds", event.usage.wall_seconds);
    append_number(out, "cpu_seconds", event.usage.cpu_seconds);
    append_number(out, "peak_memory_bytes", event.usage.peak_memory_bytes);
    append_number(out, "output_bytes", event.usage.output_bytes);
    if (event.truncated) append_truncated(out, *event.truncated);
  }
  void operator()(const ResetDone& event) const {
    append_member(out, "clean", event.clean);
    append_member(out, "message", event.message);
  }
  void operator()(const Pong& /*event*/) const {}
  void operator()(const FileAnswer& event) const { append_members(out, event); }
  void operator()(const Window& event) const {
    append_number(out, "stream", event.stream);
    append_number(out, "bytes", event.bytes);
  }
  void operator()(const Started& event) const { append_number(out, "pid", event.pid); }
  void operator()(const End& event) const { append_number(out, "stream", event.stream); }
  void operator()(const CommandList& event) const {
    append_number(out, "stream", event.stream);
    append_key(out, "commands");
    char separator = '[';
    for (const CommandInfo& command : event.commands) {
      out += separator;
      append_object(out, members_of(command));
      separator = ',';
    }
    out += separator == '[' ? "[]" : "]";
  }
  void operator()(const Position& event) const {
    append_number(out, "stream", event.stream);
    append_number(out, "offset", event.offset);
  }
};

void append_env(std::string& out, const std::map<std::string, std::string>& env) {
  char separator = '{';
  for (const auto& [name, value] : env) {
    out += separator;
    append_json_string(out, name);
    out += ':';
    append_json_string(out, value);
    separator = ',';
  }
  out += separator == '{' ? "{}" : "}";
}

void append_size(std::string& out, const TerminalSize& size) {
  append_number(out, "columns", size.columns);
  append_number(out, "rows", size.rows);
}

void append_if_any(std::string& out, std::string_view key, std::string_view text) {
  if (!text.empty()) append_member(out, key, text);
}

void append_names(std::string& out, std::string_view key, const std::vector<std::string>& names) {
  append_key(out, key);
  char separator = '[';
  for (const std::string& name : names) {
    out += separator;
    append_json_string(out, name);
    separator = ',';
  }
  out += separator == '[' ? "[]" : "]";
}

struct RequestWriter {
  std::string& out;

  void operator()(const RunRequest& request) const {
    // JSON has no infinity; a caller that asks for it has a bug.
    assert(std::isfinite(request.timeout_seconds));
    out += R"({"type":"run")";
    append_member(out, "execution_id", request.execution_id);
    append_member(out, "script", request.script);
    append_number(out, "timeout", request.timeout_seconds);
    append_member(out, "mode", enum_name(request.mode));
    append_key(out, "env");
    append_env(out, request.env);
    append_names(out, "secrets", request.secrets);
    append_number(out, "max_output_bytes", request.max_output_bytes);
    append_member(out, "output", enum_name(request.output));
    append_member(out, "sys_exit", enum_name(request.sys_exit));
    append_limits(out, request.limits);
    append_member(out, "network", request.network);
    if (!request.name.empty()) append_member(out, "name", request.name);
  }
  void operator()(const CancelRequest& request) const {
    out += R"({"type":"cancel")";
    append_member(out, "execution_id", request.execution_id);
  }
  void operator()(const ResetRequest& /*request*/) const { out += R"({"type":"reset")"; }
  void operator()(const PingRequest& /*request*/) const { out += R"({"type":"ping")"; }
  void operator()(const FileRequest& request) const {
    out += R"({"type":")";
    out += type_of(request.call);
    out += '"';
    append_members(out, request);
  }
  void operator()(const Window& request) const {
    out += R"({"type":"window")";
    append_number(out, "stream", request.stream);
    append_number(out, "bytes", request.bytes);
  }
  void operator()(const End& request) const {
    out += R"({"type":"end")";
    append_number(out, "stream", request.stream);
  }
  void operator()(const Abandon& request) const {
    out += R"({"type":"abandon")";
    append_number(out, "stream", request.stream);
  }
  void operator()(const ExecRequest& request) const {
    assert(std::isfinite(request.timeout_seconds));
    out += R"({"type":"exec")";
    append_member(out, "execution_id", request.execution_id);
    append_names(out, "argv", request.argv);
    append_if_any(out, "shell", request.shell);
    append_if_any(out, "language", request.language);
    if (!request.language.empty()) append_member(out, "script", request.script);
    append_if_any(out, "directory", request.directory);
    append_key(out, "env");
    append_env(out, request.env);
    append_names(out, "secrets", request.secrets);
    append_number(out, "timeout", request.timeout_seconds);
    append_number(out, "max_output_bytes", request.max_output_bytes);
    if (request.terminal) append_size(out, *request.terminal);
    if (request.input) append_number(out, "stdin", *request.input);
    if (request.output) append_number(out, "stdout", *request.output);
    if (request.errors) append_number(out, "stderr", *request.errors);
    if (request.background) append_member(out, "background", true);
  }
  void operator()(const SignalRequest& request) const {
    out += R"({"type":"signal")";
    append_member(out, "execution_id", request.execution_id);
    append_member(out, "signal", request.signal);
    append_member(out, "whole_tree", request.whole_tree);
  }
  void operator()(const ListCommands& request) const {
    out += R"({"type":"list_commands")";
    append_number(out, "stream", request.stream);
  }
  void operator()(const AttachCommand& request) const {
    out += R"({"type":"attach")";
    append_number(out, "stream", request.stream);
    append_member(out, "execution_id", request.execution_id);
    append_number(out, "from", request.from);
  }
  void operator()(const ResizeRequest& request) const {
    out += R"({"type":"resize")";
    append_member(out, "execution_id", request.execution_id);
    append_size(out, request.size);
  }
};

}  // namespace

void append_event_head(std::string& out, std::string_view type, std::string_view execution_id) {
  out += R"({"type":")";
  out += type;
  out += '"';
  if (!execution_id.empty()) append_member(out, "execution_id", execution_id);
}

std::string encode(const Event& event) {
  std::string line;
  append_event_head(line, type_of(event.body), event.execution_id);
  std::visit(BodyWriter{line}, event.body);
  line += "}\n";
  return line;
}

std::string encode(const Request& request) {
  std::string line;
  std::visit(RequestWriter{line}, request);
  line += "}\n";
  return line;
}

std::string encode_for_worker(const RunRequest& request, std::string_view mark) {
  std::string settings = R"({"sys_exit":)";
  append_json_string(settings, enum_name(request.sys_exit));
  if (!request.env.empty()) {
    append_key(settings, "env");
    append_env(settings, request.env);
  }
  append_limits(settings, request.limits);
  append_member(settings, "network", request.network);
  if (!request.name.empty()) append_member(settings, "name", request.name);
  settings += '}';
  std::string frame(enum_name(request.mode));
  frame += ' ';
  append_digits(frame, request.timeout_seconds);
  frame += ' ';
  frame += mark;
  frame += ' ';
  append_digits(frame, settings.size());
  frame += ' ';
  append_digits(frame, request.script.size());
  frame += '\n';
  frame += settings;
  frame += request.script;
  return frame;
}

}  // namespace hearth::wire
