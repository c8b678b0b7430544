// wire/command_messages.h: what the host asks of commands in a sandbox. Their output and their end
// are events like those of a script, see wire/messages.h.
#pragma once

#include "wire/stream_messages.h"

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

// ---- sandbox to host ----

// A command's program runs.
struct Started {
  std::uint64_t pid = 0;  // in the sandbox
  bool operator==(const Started&) const = default;
};

}  // namespace hearth::wire
