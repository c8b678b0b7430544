// execution/verdict.h: how a turn ended, decided from facts alone.
#pragma once

#include "base/enum_names.h"
#include "wire/messages.h"

#include <optional>
#include <string_view>

namespace hearth::execution {

enum class Verdict {
  ok,
  error,         // an exception
  timeout,       // the wall clock
  memory_limit,  // the kernel ended it for its memory
  output_limit,
  exited,          // its process ended by itself (os._exit, exec)
  crashed,         // a signal
  missing_secret,  // not run
  cancelled,
  lost,  // the sandbox vanished, or broke the protocol
};
constexpr auto names_of(Verdict /*type*/) {
  return enum_names<Verdict>({{Verdict::ok, "ok"},
                              {Verdict::error, "error"},
                              {Verdict::timeout, "timeout"},
                              {Verdict::memory_limit, "memory_limit"},
                              {Verdict::output_limit, "output_limit"},
                              {Verdict::exited, "exited"},
                              {Verdict::crashed, "crashed"},
                              {Verdict::missing_secret, "missing_secret"},
                              {Verdict::cancelled, "cancelled"},
                              {Verdict::lost, "lost"}});
}
constexpr std::string_view name_of(Verdict verdict) { return enum_name(verdict); }

// What is known when a turn is over. The sandbox's own word comes last: the clock and the counters
// outside cannot be talked to by a script.
struct TurnFacts {
  // Absent if the stream ended, or had to be cut, before it.
  std::optional<wire::ScriptDone> done = {};
  bool host_deadline_passed = false;
  bool output_limit_exceeded = false;  // counted outside
  bool memory_limit_hit = false;       // from the cgroup
};

Verdict verdict_of(const TurnFacts& facts);

}  // namespace hearth::execution
