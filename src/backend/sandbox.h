// backend/sandbox.h: one live isolated place, however it was made. All a layer above may want of
// it.
#pragma once

#include "async/task.h"
#include "blueprint/sandbox_config.h"
#include "channel/sandbox_channel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hearth::backend {

// Of all its processes together; what one turn used is in its result.
struct SandboxUsage {
  std::uint64_t memory_bytes = 0;  // now
  double cpu_seconds = 0;
};

class Sandbox {
 public:
  // Whatever is left of it is killed and removed.
  virtual ~Sandbox() = default;

  virtual const std::string& id() const = 0;
  virtual SandboxChannel& channel() = 0;

  // Everything in it, at once. Harmless when it has ended.
  virtual void kill() = 0;
  // Returns when none of its processes is left, however that came.
  virtual Task<> exited() = 0;

  // Whether the kernel killed something in it for want of memory, ever.
  virtual bool memory_limit_hit() const = 0;
  virtual Task<SandboxUsage> usage() const = 0;

  // Memory, processor time and processes, from now on; the rest is not the kernel's to watch.
  // Throws Error if this sandbox cannot be limited.
  virtual Task<> set_limits(blueprint::ResourceLimits limits) = 0;

  // Throws Error if it is no longer what it was when it was ready, or does not answer. Not while a
  // turn runs.
  virtual Task<> probe() = 0;
};

// Makes the sandboxes of one built environment.
class SandboxSource {
 public:
  virtual ~SandboxSource() = default;

  // Ready to run. Throws SpawnError or ReadyTimeout, and then nothing of it is left. Several may
  // be on their way at once.
  virtual Task<std::unique_ptr<Sandbox>> spawn() = 0;

  // Ends at once what a spawn can hang in where it cannot be cancelled: none succeeds from now on.
  // Sandboxes may die with it. close() must follow.
  virtual void stop() {}

  // Ends what is needed to make more, and waits until all that was destroyed is gone. Sandboxes
  // still alive die. Must be called before the destructor.
  virtual Task<> close() = 0;
};

// Turns blueprints into sources.
class SourceFactory {
 public:
  using OnProgress = std::function<void(const std::string& line)>;  // on the loop; must not throw

  virtual ~SourceFactory() = default;

  // Builds the environment of a blueprint if it is not there yet; `on_progress` gets the log of
  // that, line by line. `mounts`: the blueprint's files, for an engine that sees other paths than
  // this process.
  virtual Task<std::unique_ptr<SandboxSource>> open(std::string blueprint,
                                                    std::vector<blueprint::Mount> mounts,
                                                    OnProgress on_progress) = 0;

  // How many leases one sandbox is for, unless the operator says otherwise.
  virtual std::uint64_t usual_max_uses() const = 0;

  // How many are made at once for one blueprint. More than keep the processors busy make no more of
  // them, but turns slower.
  virtual std::size_t parallel_spawns() const {
    return std::clamp(std::thread::hardware_concurrency() + 1, 2U, 4U);
  }

  // What all its sandboxes together may use at most; nothing where only the machine bounds them.
  virtual std::optional<std::uint64_t> memory_limit_bytes() const { return std::nullopt; }
};

}  // namespace hearth::backend
