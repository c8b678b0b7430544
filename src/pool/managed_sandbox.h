// pool/managed_sandbox.h: a live sandbox, what its pool knows of it, and what is done to it between
// turns. Its tasks may outlive the sandbox's processes, but not this object.
#pragma once

#include "async/clock.h"
#include "async/task.h"
#include "backend/sandbox.h"
#include "pool/binding.h"
#include "pool/memory_budget.h"
#include "pool/owner.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hearth::pool {

struct ManagedSandbox {
  enum class State { idle, leased, cleaning, retiring };

  // Gives it what one lease alone has: files, and limits if they differ from the `usual` ones. If
  // that fails, the sandbox is unusable.
  Task<> prepare(const Binding& binding, const blueprint::ResourceLimits& usual,
                 std::chrono::milliseconds file_limit);
  // Makes it as new after a lease. Returns what is wrong with it, or nothing.
  Task<std::string> clean(const blueprint::ResourceLimits& usual, std::chrono::milliseconds limit);
  // Returns what is wrong with it, or nothing.
  Task<std::string> probe(std::chrono::milliseconds limit);

  std::shared_ptr<backend::SandboxSource> source;  // must outlive the sandbox
  std::unique_ptr<backend::Sandbox> sandbox;
  MemoryBudget::Share memory = {};  // of its last lease, until it is clean or gone
  State state = State::idle;
  bool gone = false;                // all its processes have ended
  bool unusable = false;            // after a lease that left it in an unknown state
  std::uint64_t use_count = 0;      // leases so far
  std::optional<Owner> owner = {};  // of the last lease
  bool has_own_limits = false;      // tighter than the blueprint's
  bool is_beyond_capacity = false;  // its lease does not count against the fleet's capacity
  Clock::Time born = {};
  Clock::Time checked = {};  // when it was last known to be well
};

}  // namespace hearth::pool
