// pool/managed_sandbox.h: a live sandbox and what its pool knows of it.
#pragma once

#include "async/clock.h"
#include "backend/sandbox.h"
#include "pool/memory_budget.h"
#include "pool/owner.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace hearth::pool {

struct ManagedSandbox {
  enum class State { idle, leased, cleaning, retiring };

  std::shared_ptr<backend::SandboxSource> source;  // outlives the sandbox, whoever holds that
  std::unique_ptr<backend::Sandbox> sandbox;
  MemoryBudget::Share memory = {};  // of its last lease, until it is clean or gone
  State state = State::idle;
  bool gone = false;                // all its processes have ended
  bool unusable = false;            // said by who leased it
  std::uint64_t use_count = 0;      // leases so far
  std::optional<Owner> owner = {};  // of the last lease
  bool has_own_limits = false;      // tighter than the blueprint's
  Clock::Time born = {};
  Clock::Time checked = {};  // when it was last known to be well
};

}  // namespace hearth::pool
