#include "wire/decode.h"

#include "wire/file_codec.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace hearth::wire {
namespace {

// `kind` as in "mode", for the message.
template <NamedEnum Enum>
Enum value_named(std::string_view kind, std::string_view name) {
  if (const std::optional<Enum> value = enum_value<Enum>(name)) return *value;
  throw ProtocolError("unknown " + std::string(kind) + " \"" + std::string(name) + '"');
}

std::string log_level(std::string name) {
  for (const std::string_view level : {"debug", "info", "warning", "error", "critical"})
    if (name == level) return name;
  throw ProtocolError("unknown level \"" + name + '"');
}

std::map<std::string, std::string> environment(std::string_view text) {
  std::map<std::string, std::string> env;
  for (JsonMember& member : parse_object(text, any_number)) {
    // What execve could not pass on would fail later, and less clearly.
    if (member.kind != JsonKind::string) throw ProtocolError("an env value is not a string");
    if (member.key.empty() || member.key.find('=') != std::string::npos ||
        member.key.find('\0') != std::string::npos || member.text.find('\0') != std::string::npos)
      throw ProtocolError("env holds a name or value that no environment can");
    env.emplace(std::move(member.key), std::move(member.text));
  }
  return env;
}

std::string required_id(MemberReader& members) {
  std::string id = members.string("execution_id");
  if (id.empty() || id.size() > 128)
    throw ProtocolError("\"execution_id\" must have 1 to 128 characters");
  return id;
}

KnownLimits known_limits(const std::string& text) {
  MemberReader members(text);
  KnownLimits limits;
  limits.memory_mb = members.count("memory_mb");
  limits.pids_limit = members.count("pids_limit");
  limits.scratch_size_mb = members.count("scratch_size_mb");
  members.finish();
  return limits;
}

// Becomes the name of a file in /workspace.
std::string script_name(std::string name) {
  constexpr std::size_t longest = 255;
  const auto is_bad = [](char c) { return c == '/' || static_cast<unsigned char>(c) < ' '; };
  if (name.size() > longest || name == "." || name == ".." ||
      std::any_of(name.begin(), name.end(), is_bad))
    throw ProtocolError("\"name\" must be the name of a file");
  return name;
}

// The upper bound keeps every deadline computable; a year is for ever.
constexpr double longest_timeout_seconds = 31'536'000;

RunRequest run_request(MemberReader& members) {
  RunRequest request;
  request.execution_id = required_id(members);
  request.script = members.string("script");
  request.timeout_seconds = members.number("timeout");
  if (request.timeout_seconds <= 0 || request.timeout_seconds > longest_timeout_seconds)
    throw ProtocolError("\"timeout\" must be more than 0 and at most 31536000 seconds");
  request.mode = value_named<Mode>("mode", members.string("mode"));
  request.env = environment(members.json("env", JsonKind::object));
  request.secrets = parse_string_array(members.json("secrets", JsonKind::array));
  request.max_output_bytes = members.count("max_output_bytes");
  request.output = value_named<OutputMode>("output", members.string("output"));
  request.sys_exit = value_named<SysExit>("sys_exit", members.string("sys_exit"));
  request.limits = known_limits(members.json("limits", JsonKind::object));
  request.network = members.boolean("network");
  request.name = script_name(members.optional_string("name"));
  return request;
}

// Of both directions.
Window window(MemberReader& members) {
  Window window{take_stream(members), members.count("bytes")};
  if (window.bytes == 0) throw ProtocolError("a window of no bytes");
  return window;
}

Truncated truncated(const std::string& text) {
  MemberReader members(text);
  Truncated truncated;
  truncated.stdout_bytes = members.count("stdout_bytes");
  truncated.stderr_bytes = members.count("stderr_bytes");
  truncated.displays = members.count("displays");
  truncated.events = members.count("events");
  members.finish();
  return truncated;
}

std::string without_nul(std::string_view key, std::string text) {
  if (text.find('\0') == std::string::npos) return text;
  throw ProtocolError('"' + std::string(key) + "\" holds a NUL, which no program can be given");
}

std::optional<TerminalSize> terminal_size(MemberReader& members) {
  const std::optional<std::int64_t> columns = members.optional_integer("columns");
  const std::optional<std::int64_t> rows = members.optional_integer("rows");
  if (!columns && !rows) return std::nullopt;
  constexpr std::int64_t most = 65535;
  if (!columns || !rows || *columns < 1 || *rows < 1 || *columns > most || *rows > most)
    throw ProtocolError("\"columns\" and \"rows\" must both be from 1 to 65535");
  return TerminalSize{static_cast<std::uint16_t>(*columns), static_cast<std::uint16_t>(*rows)};
}

// Exactly one thing to run.
void check_program(const ExecRequest& request, bool has_script) {
  if (has_script != !request.language.empty())
    throw ProtocolError("\"language\" and \"script\" must come together");
  if (has_script && !request.shell.empty())
    throw ProtocolError("\"shell\" and \"script\" exclude each other");
  const bool is_program = request.shell.empty() && !has_script;
  if (is_program && (request.argv.empty() || request.argv.front().empty()))
    throw ProtocolError("\"argv\" names no program");
}

std::optional<StreamId> stream_if_any(MemberReader& members, std::string_view key) {
  if (!members.has(key)) return std::nullopt;
  return take_stream(members, key);
}

void take_streams(MemberReader& members, ExecRequest& request) {
  request.input = stream_if_any(members, "stdin");
  request.output = stream_if_any(members, "stdout");
  request.errors = stream_if_any(members, "stderr");
  if (request.errors.has_value() != (request.output && !request.terminal))
    throw ProtocolError("\"stdout\" and \"stderr\" must come together, or alone with a terminal");
  if ((request.output && (request.output == request.input || request.output == request.errors)) ||
      (request.errors && request.errors == request.input))
    throw ProtocolError("a stream is named twice");
}

ExecRequest exec_request(MemberReader& members) {
  ExecRequest request;
  request.execution_id = required_id(members);
  for (std::string& word : parse_string_array(members.json("argv", JsonKind::array)))
    request.argv.push_back(without_nul("argv", std::move(word)));
  request.shell = without_nul("shell", members.optional_string("shell"));
  request.language = members.optional_string("language");
  const std::optional<std::string> script = members.string_if_any("script");
  request.script = script.value_or("");
  check_program(request, script.has_value());
  request.directory = without_nul("directory", members.optional_string("directory"));
  request.env = environment(members.json("env", JsonKind::object));
  request.secrets = parse_string_array(members.json("secrets", JsonKind::array));
  request.timeout_seconds = members.number("timeout");
  if (request.timeout_seconds < 0 || request.timeout_seconds > longest_timeout_seconds)
    throw ProtocolError("\"timeout\" must be at least 0 and at most 31536000 seconds");
  request.max_output_bytes = members.count("max_output_bytes");
  request.terminal = terminal_size(members);
  take_streams(members, request);
  request.background = members.optional_boolean("background");
  if (request.background && request.output)
    throw ProtocolError("the output of a background command is kept, not streamed");
  return request;
}

SignalRequest signal_request(MemberReader& members) {
  SignalRequest request;
  request.execution_id = required_id(members);
  request.signal = members.string("signal");
  request.whole_tree = members.boolean("whole_tree");
  return request;
}

ResizeRequest resize_request(MemberReader& members) {
  ResizeRequest request;
  request.execution_id = required_id(members);
  const std::optional<TerminalSize> size = terminal_size(members);
  if (!size) throw ProtocolError("\"columns\" and \"rows\" are missing");
  request.size = *size;
  return request;
}

AttachCommand attach_command(MemberReader& members) {
  AttachCommand request;
  request.stream = take_stream(members);
  request.execution_id = required_id(members);
  request.from = members.count("from");
  return request;
}

CommandInfo command_info(const std::string& text) {
  MemberReader members(text);
  CommandInfo command;
  command.execution_id = required_id(members);
  command.pid = members.count("pid");
  command.background = members.boolean("background");
  command.output_bytes = members.count("output_bytes");
  if (const std::optional<std::string> ending = members.string_if_any("ending"))
    command.ending = value_named<Ending>("ending", *ending);
  command.exit_code = members.optional_integer("exit_code");
  command.signal = members.optional_integer("signal");
  members.finish();
  return command;
}

CommandList command_list(MemberReader& members) {
  CommandList list;
  list.stream = take_stream(members);
  const std::string commands = members.json("commands", JsonKind::array);
  for (const JsonMember& element : parse_array(commands, max_listed_commands)) {
    if (element.kind != JsonKind::object) throw ProtocolError("a command is not an object");
    list.commands.push_back(command_info(element.text));
  }
  return list;
}

ScriptDone script_done(MemberReader& members) {
  ScriptDone done;
  done.ending = value_named<Ending>("ending", members.string("ending"));
  done.started = members.boolean("started");
  done.exit_code = members.optional_integer("exit_code");
  done.signal = members.optional_integer("signal");
  done.called_exit = members.boolean("called_exit");
  done.state_lost = members.boolean("state_lost");
  done.out_of_memory = members.boolean("out_of_memory");
  done.usage.wall_seconds = members.number("wall_seconds");
  done.usage.cpu_seconds = members.number("cpu_seconds");
  done.usage.peak_memory_bytes = members.count("peak_memory_bytes");
  done.usage.output_bytes = members.count("output_bytes");
  if (const std::optional<std::string> text = members.optional_json("truncated", JsonKind::object))
    done.truncated = truncated(*text);
  return done;
}

}  // namespace

// Braced initialisers are evaluated from left to right, so the members are taken in the written
// order.
EventBody decode_body(std::string_view type, MemberReader& members) {
  if (type == "stdout") return Stdout{members.string("text")};
  if (type == "stderr") return Stderr{members.string("text")};
  if (type == "log") return Log{log_level(members.string("level")), members.string("message")};
  if (type == "intermediate")
    return Intermediate{members.string("label"), JsonText{members.json("data")}};
  if (type == "display")
    return Display{JsonText{members.json("data", JsonKind::object)},
                   members.optional_boolean("value")};
  if (type == "final_result") return FinalResult{JsonText{members.json("data")}};
  if (type == "error")
    return ScriptError{members.string("name"), members.string("message"),
                       members.string("traceback")};
  if (type == "script_done") return script_done(members);
  if (type == "reset_done") return ResetDone{members.boolean("clean"), members.string("message")};
  if (type == "pong") return Pong{};
  if (type == "window") return window(members);
  if (type == "started") return Started{members.count("pid")};
  if (type == "end") return End{take_stream(members)};
  if (type == "commands") return command_list(members);
  if (type == "position") return Position{take_stream(members), members.count("offset")};
  if (type == "ready")
    return Ready{members.optional_integer("protocol"), members.string("python"),
                 members.string("harness")};
  if (std::optional<FileAnswer> answer = decode_file_answer(type, members))
    return *std::move(answer);
  throw ProtocolError("unknown type of event \"" + std::string(type.substr(0, 40)) + '"');
}

Request decode_request(std::string_view line) {
  MemberReader members(line);
  const std::string type = members.string("type");
  Request request;
  if (type == "run") {
    request = run_request(members);
  } else if (type == "cancel") {
    request = CancelRequest{required_id(members)};
  } else if (type == "reset") {
    request = ResetRequest{};
  } else if (type == "ping") {
    request = PingRequest{};
  } else if (type == "exec") {
    request = exec_request(members);
  } else if (type == "signal") {
    request = signal_request(members);
  } else if (type == "resize") {
    request = resize_request(members);
  } else if (type == "list_commands") {
    request = ListCommands{take_stream(members)};
  } else if (type == "attach") {
    request = attach_command(members);
  } else if (type == "window") {
    request = window(members);
  } else if (type == "end") {
    request = End{take_stream(members)};
  } else if (type == "abandon") {
    request = Abandon{take_stream(members)};
  } else if (std::optional<FileRequest> file = decode_file_request(type, members)) {
    request = *std::move(file);
  } else {
    throw ProtocolError("unknown type of request \"" + type.substr(0, 40) + '"');
  }
  members.finish();
  return request;
}

Event decode_event(std::string_view line) {
  MemberReader members(line);
  const std::string type = members.string("type");
  Event event;
  event.execution_id = members.optional_string("execution_id");
  event.body = decode_body(type, members);
  members.finish();
  return event;
}

}  // namespace hearth::wire
