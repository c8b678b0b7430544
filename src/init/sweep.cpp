#include "init/sweep.h"

#include "init/sandbox_failed.h"

namespace hearth::init {
namespace {

// Commands are not stopped at first: what a turn leaves behind is most often killed at once.
constexpr int passes_before_freeze = 1;

}  // namespace

bool Sweep::is_done(std::span<const pid_t> spared) const {
  if (trees_.empty()) return processes_.has_only(spared);
  std::vector<pid_t> all(spared.begin(), spared.end());
  all.insert(all.end(), trees_.begin(), trees_.end());
  return processes_.has_only(all);
}

bool Sweep::advance(Clock::time_point now, std::span<const pid_t> spared) {
  if (is_done(spared)) {
    began_at_.reset();
    passes_ = 0;
    return true;
  }
  if (!began_at_) began_at_ = next_pass_at_ = now;
  if (now >= next_pass_at_) {
    processes_.kill_all_but(spared, trees_, ++passes_ > passes_before_freeze);
    next_pass_at_ = now + sweep_interval;
  }
  if (now - *began_at_ > sweep_patience) throw SandboxFailed("processes cannot be killed");
  return false;
}

}  // namespace hearth::init
