#include "execution/verdict.h"

#include <csignal>

namespace hearth::execution {
namespace {

Verdict verdict_of_ending(const wire::ScriptDone& done, bool memory_limit_hit) {
  switch (done.ending) {
    case wire::Ending::completed:
      return Verdict::ok;
    case wire::Ending::failed:
      return Verdict::error;
    case wire::Ending::timed_out:
      return Verdict::timeout;
    case wire::Ending::output_limit:
      return Verdict::output_limit;
    case wire::Ending::cancelled:
      return Verdict::cancelled;
    case wire::Ending::exited:
      return Verdict::exited;
    case wire::Ending::missing_secret:
      return Verdict::missing_secret;
    case wire::Ending::refused:
      return Verdict::lost;
    case wire::Ending::signalled:
      break;
  }
  // The kernel kills with SIGKILL. Any other signal is the script's own, whatever its memory did
  // before.
  return memory_limit_hit && done.signal == SIGKILL ? Verdict::memory_limit : Verdict::crashed;
}

}  // namespace

Verdict verdict_of(const TurnFacts& facts) {
  if (facts.output_limit_exceeded) return Verdict::output_limit;
  if (facts.done) return verdict_of_ending(*facts.done, facts.memory_limit_hit);
  if (facts.host_deadline_passed) return Verdict::timeout;
  return facts.memory_limit_hit ? Verdict::memory_limit : Verdict::lost;
}

}  // namespace hearth::execution
