// backend/sandbox.h: one live isolated place, and what makes it. The only interface through which
// layers above see a backend.
#pragma once

#include "async/task.h"
#include "backend/errors.h"
#include "blueprint/sandbox_config.h"
#include "channel/sandbox_channel.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hearth::backend {

// Of all processes of a sandbox together. What one turn used is in its result.
struct SandboxUsage {
  std::uint64_t memory_bytes = 0;  // now
  double cpu_seconds = 0;
};

// Where it is, and empty what is not known.
struct Interpreter {
  std::string version{};
  std::string path{};
  bool operator==(const Interpreter&) const = default;
};

class Sandbox {
 public:
  // Kills and removes what is left of it.
  virtual ~Sandbox() = default;

  virtual const std::string& id() const = 0;
  virtual SandboxChannel& channel() = 0;

  // Kills everything in it at once. No effect when it has ended.
  virtual void kill() = 0;
  // Returns when none of its processes is left.
  virtual Task<> exited() = 0;

  // True if the kernel ever killed something in it because of its memory limit.
  virtual bool memory_limit_hit() const = 0;
  virtual Task<SandboxUsage> usage() const = 0;

  // The limits that this machine cannot keep for the sandbox as a whole, of `memory`, `pids` and
  // `cpu`: each process may have an approximation of its own.
  virtual std::vector<std::string> degraded() const { return {}; }

  // The Python of its scripts.
  virtual Interpreter python() const { return {}; }

  // Sets the kernel's limits of memory, CPU and processes; the other limits are not the kernel's.
  // Throws Error if this sandbox cannot be limited.
  virtual Task<> set_limits(blueprint::ResourceLimits limits) = 0;

  // Throws Error if its isolation is no longer what it was when it was ready, or if it does not
  // answer. Not while a turn runs.
  virtual Task<> probe() = 0;
};

// Makes the sandboxes of one built environment.
class SandboxSource {
 public:
  virtual ~SandboxSource() = default;

  // Returns a sandbox that is ready to run a script. Throws SpawnError or ReadyTimeout, and then
  // nothing of it is left. Several may be spawned at once.
  virtual Task<std::unique_ptr<Sandbox>> spawn() = 0;

  // Ends at once everything in which a spawn can hang without being cancelled. No spawn succeeds
  // from now on, and sandboxes may end with it. close() must follow.
  virtual void stop() {}

  // Ends what is needed to spawn more, kills all sandboxes that are alive, and waits until they are
  // gone. Must be called before the destructor.
  virtual Task<> close() = 0;
};

}  // namespace hearth::backend
