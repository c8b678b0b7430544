// execution/turn_request.h: what a caller wants of one turn, a script or a foreground command, and
// the request that a sandbox gets for it.
#pragma once

#include "blueprint/sandbox_config.h"
#include "pool/binding.h"
#include "wire/messages.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace hearth::execution {

struct TurnRequest {
  // One of the three: a script, a program with its arguments, or a line for a shell.
  std::string script{};
  std::vector<std::string> command{};
  std::string shell{};
  std::string language{};           // of the script; empty: the blueprint's
  std::vector<std::string> args{};  // of a script in another language or of a shell line
  std::string directory{};          // of a command; empty: /workspace
  // Of a command: its standard input, which ends there unless it stays open for Turn::write_input.
  std::string input{};
  bool input_stays_open = false;
  std::optional<wire::TerminalSize> terminal{};  // of a command: it has one, of that size
  std::string execution_id{};                    // empty: a new one
  // Of Python. Absent: the blueprint's. Each lease may be used in both modes.
  std::optional<blueprint::ExecutionMode> mode{};
  // No wider than the lease's; absent: the lease's. 0, of a command only: none.
  std::optional<std::chrono::milliseconds> time_limit{};
  std::optional<std::int64_t> max_output_bytes{};
  std::optional<blueprint::OutputMode> output{};  // absent: the blueprint's
  std::string name{};  // of the script's file, for tracebacks; empty: script.py
  // Beats the lease's variables of the same name, as those beat secrets.
  std::map<std::string, std::string> env{};
};

using WireRequest = std::variant<wire::RunRequest, wire::ExecRequest>;

// The only place where a request to run something in a leased sandbox is made. ConfigError with
// every limit that is wider than the lease's or can never work, and everything that makes no sense.
WireRequest wire_request(const pool::Binding& binding, TurnRequest request);

}  // namespace hearth::execution
