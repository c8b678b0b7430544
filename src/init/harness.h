// init/harness.h: who makes workers, and the private socket to it: the harness, a child of ours; or
// the host, who has a zygote fork them into the sandbox.
#pragma once

#include "init/worker.h"
#include "os/unique_fd.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace hearth::init {

struct HarnessReady {
  std::string python;
  std::string version;
};
struct HarnessFailed {  // a tool or a preloaded package would not load
  std::string message;
  std::string traceback;
};
struct PrepareFailed {
  std::uint64_t number;  // of the request
  std::string message;
};
using HarnessMessage = std::variant<HarnessReady, HarnessFailed, PrepareFailed>;

class Harness {
 public:
  // Starts `command` with the environment init was given.
  explicit Harness(const std::vector<std::string>& command);
  // Outside the sandbox; the descriptor becomes ours.
  explicit Harness(int control) : is_outside_(true), control_(control) {}

  pid_t pid() const { return pid_; }  // 0 if it has none here
  int control_fd() const { return control_.get(); }
  bool alive() const { return is_outside_ ? static_cast<bool>(control_) : pid_ > 0; }
  void mark_dead() { pid_ = 0; }

  // Asks for a worker. It is there when its first record says so.
  Worker prepare();
  // What it says about an earlier request than the last is left out: it concerns nobody any more.
  std::optional<HarnessMessage> receive();

 private:
  bool is_outside_ = false;
  std::uint64_t last_request_ = 0;
  pid_t pid_ = 0;
  os::UniqueFd control_;
};

}  // namespace hearth::init
