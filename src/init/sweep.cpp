#include "init/sweep.h"

#include "init/sandbox_failed.h"

namespace hearth::init {

bool Sweep::advance(Clock::time_point now, std::span<const pid_t> spared) {
  if (processes_.has_only(spared)) {
    began_at_.reset();
    return true;
  }
  if (!began_at_) began_at_ = next_pass_at_ = now;
  if (now >= next_pass_at_) {
    processes_.kill_all_but(spared);
    next_pass_at_ = now + sweep_interval;
  }
  if (now - *began_at_ > sweep_patience) throw SandboxFailed("processes cannot be killed");
  return false;
}

}  // namespace hearth::init
