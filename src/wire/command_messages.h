// wire/command_messages.h: what the host asks of commands in a sandbox. Their output and their end
// are events like those of a script, see wire/messages.h.
#pragma once

#include "wire/stream_messages.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::wire {

// ---- host to sandbox ----

struct TerminalSize {
  std::uint16_t columns = 80;
  std::uint16_t rows = 24;
  bool operator==(const TerminalSize&) const = default;
};

// A command. What it runs is one of three: `argv` alone is a program and its arguments; with
// `shell` a shell runs that line, with `language` its interpreter runs `script`, and `argv` has the
// arguments of the line or script.
struct ExecRequest {
  std::string execution_id;
  std::vector<std::string> argv = {};
  std::string shell = {};
  std::string language = {};
  std::string script = {};
  std::string directory = {};  // empty: /workspace
  std::map<std::string, std::string> env = {};
  std::vector<std::string> secrets = {};
  double timeout_seconds = 30;  // 0: none
  std::uint64_t max_output_bytes = 1'048'576;
  std::optional<TerminalSize> terminal = {};
  // Data streams of its standard streams. Absent: an empty input, and output that comes as events.
  // Both outputs or none; with a terminal, `errors` is part of `output`.
  std::optional<StreamId> input = {};
  std::optional<StreamId> output = {};
  std::optional<StreamId> errors = {};
  // It outlives turns. Its output is kept in the sandbox, the last kept_output_bytes of it, for
  // those that attach to it. No event of it comes after Started.
  bool background = false;
  bool operator==(const ExecRequest&) const = default;
};

// To the processes of a running command.
struct SignalRequest {
  std::string execution_id;
  std::string signal;       // INT, TERM, ...
  bool whole_tree = false;  // otherwise the command's process group
  bool operator==(const SignalRequest&) const = default;
};

struct ResizeRequest {
  std::string execution_id;
  TerminalSize size = {};
  bool operator==(const ResizeRequest&) const = default;
};

inline constexpr std::uint64_t kept_output_bytes = std::uint64_t{128} << 10;
// That run, and background commands that have ended.
inline constexpr std::size_t max_listed_commands = 64;

// Answered by CommandList.
struct ListCommands {
  StreamId stream = 0;
  bool operator==(const ListCommands&) const = default;
};

// To what a background command prints, from that byte on or the first one that is kept. Answered by
// a Position and bytes, and End when the command is over; by End alone if there is none.
struct AttachCommand {
  StreamId stream = 0;
  std::string execution_id;
  std::uint64_t from = 0;
  bool operator==(const AttachCommand&) const = default;
};

// ---- sandbox to host ----

// How a turn ended, as init saw it: see wire/messages.h.
enum class Ending;

// A command that runs, or a background command that has ended.
struct CommandInfo {
  std::string execution_id;
  std::uint64_t pid = 0;  // in the sandbox
  bool background = false;
  std::uint64_t output_bytes = 0;     // so far
  std::optional<Ending> ending = {};  // absent: it runs
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};
  bool operator==(const CommandInfo&) const = default;
};

struct CommandList {
  StreamId stream = 0;
  std::vector<CommandInfo> commands;
  bool operator==(const CommandList&) const = default;
};

// Where the data that follow begin in what a command has printed: at first, and where the reader
// was so slow that bytes were dropped before it had them.
struct Position {
  StreamId stream = 0;
  std::uint64_t offset = 0;
  bool operator==(const Position&) const = default;
};

// A command's program runs.
struct Started {
  std::uint64_t pid = 0;  // in the sandbox
  bool operator==(const Started&) const = default;
};

}  // namespace hearth::wire
