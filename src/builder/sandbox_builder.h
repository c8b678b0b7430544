// builder/sandbox_builder.h: what turns blueprints into environments, whatever those are.
#pragma once

#include "async/task.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hearth::builder {

// One version of a blueprint's environment.
struct Built {
  std::string name{};       // an image's tag, a directory
  std::string blueprint{};  // the blueprint it was built for; empty where several may share it
  std::string checksum{};
  std::uint64_t size_bytes = 0;
  std::int64_t created = 0;  // seconds since 1970
  bool is_wanted = false;    // by a blueprint of this configuration, as it is now
  bool is_in_use = false;    // by somebody alive
};

class SandboxBuilder {
 public:
  // A line of the build's log, without its end. On the loop; must not throw.
  using OnProgress = std::function<void(const std::string&)>;

  virtual ~SandboxBuilder() = default;

  // Its name, built if it is missing or stale: once, however many ask. UnknownBlueprint, BuildError
  // with the log, and what the place where it is kept says when it cannot be used. A caller that is
  // cancelled leaves the build to others that wait for it; without any, it is ended.
  virtual Task<std::string> ensure_sandbox(std::string name, OnProgress on_line) = 0;

  // All there are, those of other configurations too.
  virtual Task<std::vector<Built>> list() = 0;
  // Removes what is neither wanted nor in use; says what that was.
  virtual Task<std::vector<std::string>> prune() = 0;
};

}  // namespace hearth::builder
