#include "wire/decode.h"

#include "base/base64.h"
#include "wire/protocol_error.h"
#include "wire/workspace_path.h"

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

RunRequest run_request(MemberReader& members) {
  RunRequest request;
  request.execution_id = required_id(members);
  request.script = members.string("script");
  request.timeout_seconds = members.number("timeout");
  // The upper bound keeps every deadline computable; a year is for ever.
  if (request.timeout_seconds <= 0 || request.timeout_seconds > 31'536'000)
    throw ProtocolError("\"timeout\" must be more than 0 and at most 31536000 seconds");
  request.mode = value_named<Mode>("mode", members.string("mode"));
  request.env = environment(members.json("env", JsonKind::object));
  request.secrets = parse_string_array(members.json("secrets", JsonKind::array));
  request.max_output_bytes = members.count("max_output_bytes");
  return request;
}

WriteFileRequest write_file_request(MemberReader& members) {
  WriteFileRequest request;
  request.path = members.string("path");
  if (const std::string problem = problem_of_workspace_path(request.path); !problem.empty())
    throw ProtocolError("\"path\" " + problem);
  std::optional<std::string> data = decode_base64(members.string("data"));
  if (!data) throw ProtocolError("\"data\" must be base64");
  request.data = std::move(*data);
  const std::uint64_t mode = members.count("mode");
  request.mode = static_cast<std::uint32_t>(mode);
  if (request.mode != mode) throw ProtocolError("\"mode\" must have at most 32 bits");
  request.append = members.boolean("append");
  return request;
}

ScriptDone script_done(MemberReader& members) {
  ScriptDone done;
  done.ending = value_named<Ending>("ending", members.string("ending"));
  done.started = members.boolean("started");
  done.exit_code = members.optional_integer("exit_code");
  done.signal = members.optional_integer("signal");
  done.state_lost = members.boolean("state_lost");
  done.out_of_memory = members.boolean("out_of_memory");
  done.usage.wall_seconds = members.number("wall_seconds");
  done.usage.cpu_seconds = members.number("cpu_seconds");
  done.usage.peak_memory_bytes = members.count("peak_memory_bytes");
  done.usage.output_bytes = members.count("output_bytes");
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
  if (type == "file_written") return FileWritten{members.string("path"), members.string("error")};
  if (type == "ready")
    return Ready{members.optional_integer("protocol"), members.string("python"),
                 members.string("harness")};
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
  } else if (type == "write_file") {
    request = write_file_request(members);
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
