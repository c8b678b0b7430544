// init/worker_maker.h: the private socket to the process that makes workers. That is the harness, a
// child of init; or the host, which has a zygote fork them into the sandbox.
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

struct MakerReady {
  std::string python;
  std::string version;
};
struct MakerFailed {  // a tool or a preloaded package could not be loaded
  std::string message;
  std::string traceback;
};
struct PrepareFailed {
  std::uint64_t number;  // of the request
  std::string message;
};
using MakerMessage = std::variant<MakerReady, MakerFailed, PrepareFailed>;

class WorkerMaker {
 public:
  // Starts the harness with the environment variables of init.
  explicit WorkerMaker(const std::vector<std::string>& harness_command);
  // The host. Takes ownership of the descriptor.
  explicit WorkerMaker(int control) : is_host_(true), control_(control) {}

  pid_t pid() const { return pid_; }  // 0 if it is no process of this sandbox
  int control_fd() const { return control_.get(); }
  bool alive() const { return is_host_ ? static_cast<bool>(control_) : pid_ > 0; }
  void mark_dead() { pid_ = 0; }

  // Asks for a worker, whose first record will say that it exists.
  Worker prepare();
  // Leaves out a failure of any request but the last: no worker is expected from it any more.
  std::optional<MakerMessage> receive();

 private:
  bool is_host_ = false;
  std::uint64_t last_request_ = 0;
  pid_t pid_ = 0;
  os::UniqueFd control_;
};

}  // namespace hearth::init
