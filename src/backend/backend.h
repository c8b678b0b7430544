// backend/backend.h: what makes sandboxes. One implementation for each way of isolation; the layers
// above know this interface only.
#pragma once

#include "backend/errors.h"
#include "backend/sandbox.h"

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

// One version of a blueprint's environment.
struct Built {
  std::string name{};                     // an image's tag, a directory
  std::vector<std::string> blueprints{};  // it was used for, as far as this installation knows
  std::string checksum{};
  std::string python{};  // version
  std::vector<std::string> packages{};
  std::vector<std::string> configurations{};  // that used it; "" stands for none
  std::int64_t last_used = 0;                 // seconds since 1970, to the hour; 0: never
  std::uint64_t size_bytes = 0;
  std::int64_t created = 0;  // seconds since 1970
  bool is_wanted = false;    // by a blueprint of this configuration, as it is now
  bool is_in_use = false;    // by a live process or sandbox
};

struct Prune {
  bool all = false;         // also what other configurations of this installation used
  bool is_dry_run = false;  // only says what would go
};

enum class Freshness { as_found, anew };

// One fact about this machine, and what follows from it.
struct Finding {
  enum class State { good, weak, missing };
  std::string what{};
  std::string found{};
  State state = State::good;
  std::string consequence{};  // of what is not good
  std::string remedy{};       // a command or a sentence
};

class Backend {
 public:
  // A line of a build's log, without its end. On the loop; must not throw.
  using OnProgress = std::function<void(const std::string& line)>;

  virtual ~Backend() = default;

  // Builds the environment of a blueprint if it is missing or stale, or in any case, and returns
  // its name.
  virtual Task<std::string> build(std::string blueprint, Freshness freshness,
                                  OnProgress on_progress) = 0;

  // The same, and then what makes sandboxes of it. `mounts`: the blueprint's files, for an engine
  // that sees other paths than this process.
  virtual Task<std::unique_ptr<SandboxSource>> open(std::string blueprint,
                                                    std::vector<blueprint::Mount> mounts,
                                                    OnProgress on_progress) = 0;

  // All environments there are, those of other configurations too.
  virtual Task<std::vector<Built>> list() = 0;
  // Removes environments that are neither wanted nor in use, and that only this configuration used.
  // Never what another installation made. Returns their names.
  virtual Task<std::vector<std::string>> prune(Prune how) = 0;

  // What this machine offers for its sandboxes.
  virtual Task<std::vector<Finding>> examine() = 0;

  // How many leases one sandbox is for, unless the operator says otherwise.
  virtual std::uint64_t usual_max_uses() const = 0;

  // How many are made at once for one blueprint. More than keep the CPUs busy make no more of
  // them, but turns slower.
  virtual std::size_t parallel_spawns() const {
    return std::clamp(std::thread::hardware_concurrency() + 1, 2U, 4U);
  }

  // What all its sandboxes together may use at most; nothing where only the machine bounds them.
  virtual std::optional<std::uint64_t> memory_limit_bytes() const { return std::nullopt; }
};

}  // namespace hearth::backend
