// execution/turn_request.h: what a caller wants of one turn, and the request that a sandbox gets
// for it.
#pragma once

#include "blueprint/sandbox_config.h"
#include "pool/binding.h"
#include "wire/messages.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hearth::execution {

struct TurnRequest {
  std::string script;
  std::string execution_id{};  // empty: a new one
  // Absent: the blueprint's. Each lease may be used in both modes.
  std::optional<blueprint::ExecutionMode> mode{};
  // No wider than the lease's; absent: the lease's.
  std::optional<std::chrono::milliseconds> time_limit{};
  std::optional<std::int64_t> max_output_bytes{};
  std::optional<blueprint::OutputMode> output{};  // absent: the blueprint's
  std::string name{};  // of the script's file, for tracebacks; empty: script.py
  // Beats the lease's variables of the same name, as those beat secrets.
  std::map<std::string, std::string> env{};
};

// The only place where a request to run something in a leased sandbox is made. ConfigError with
// every limit that is wider than the lease's or can never work.
wire::RunRequest wire_request(const pool::Binding& binding, TurnRequest request);

}  // namespace hearth::execution
