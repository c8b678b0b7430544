// builder/sandbox_builder.h: what turns blueprints into environments, whatever those are.
#pragma once

#include "async/task.h"
#include "backend/backend.h"

#include <functional>
#include <string>
#include <vector>

namespace hearth::builder {

using backend::Built;
using backend::Prune;

class SandboxBuilder {
 public:
  // A line of the build's log, without its end. On the loop; must not throw.
  using OnProgress = std::function<void(const std::string&)>;

  virtual ~SandboxBuilder() = default;

  // Returns the name of the environment, which is built if it is missing or stale: once for any
  // number of callers. Throws UnknownBlueprint, BuildError with the log, and errors of the engine
  // or directory that keeps it. A cancelled caller leaves the build to others that wait for it. If
  // there are none, the build is cancelled.
  virtual Task<std::string> ensure_sandbox(std::string name, OnProgress on_line) = 0;
  // The same, but builds it although it is there. BuildError while it is in use.
  virtual Task<std::string> rebuild_sandbox(std::string name, OnProgress on_line) = 0;

  // All environments, also those of other configurations.
  virtual Task<std::vector<Built>> list() = 0;
  // As backend::Backend::prune.
  virtual Task<std::vector<std::string>> prune(Prune how) = 0;
};

}  // namespace hearth::builder
