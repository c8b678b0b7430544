// tests/support/sandbox_process.h: the real hearth-init with a real Python in namespaces of its
// own, made by bubblewrap: what the protocol's tests talk to.
#pragma once

#include "backend/sandbox.h"
#include "execution/script_executor.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace hearth::test {

struct SandboxOptions {
  std::map<std::string, std::string> tools = {};  // file name to source, in /tools
  std::vector<std::string> harness_arguments = {};
  std::map<std::string, std::string> environment = {};  // of init
  std::string harness = "";                             // another program in place of the harness
  std::uint64_t workspace_bytes = 0;                    // 0: as much as the machine gives
  // Long enough that on a busy machine it is init that ends a turn: the host's own limit has tests
  // of its own.
  std::chrono::milliseconds host_grace{30'000};
};

class SandboxProcess : public backend::Sandbox {
 public:
  explicit SandboxProcess(asio::io_context& loop, SandboxOptions options = {});
  ~SandboxProcess() override;
  SandboxProcess(const SandboxProcess&) = delete;
  SandboxProcess& operator=(const SandboxProcess&) = delete;

  const std::string& id() const override { return id_; }
  SandboxChannel& channel() override { return *channel_; }
  void kill() override;
  bool memory_limit_hit() const override { return false; }  // bubblewrap sets no limits
  // No turn asks for these.
  Task<> exited() override { throw Error("not watched"); }
  Task<backend::SandboxUsage> usage() const override { throw Error("not measured"); }
  Task<> set_limits(blueprint::ResourceLimits /*limits*/) override { throw Error("no limits"); }
  Task<> probe() override { throw Error("not probed"); }

  ByteStream& stream() { return *stream_; }  // the channel's own, to send what is no message
  bool was_killed() const { return killed_; }
  // Init and its harness, as the machine sees them.
  void signal_init(int number) const;
  std::uint64_t init_peak_memory_bytes() const;
  pid_t harness_pid() const;  // 0 until it is there

 private:
  pid_t init_pid() const;

  TemporaryDirectory tools_;
  std::unique_ptr<SandboxChannel> channel_;
  ByteStream* stream_ = nullptr;
  pid_t pid_ = 0;
  std::string id_ = "bubblewrap";
  bool killed_ = false;
};

wire::ExecRequest shell_line(std::string line, double timeout_seconds = 20);
wire::RunRequest request_for(std::string script, double timeout_seconds = 20,
                             wire::Mode mode = wire::Mode::plan);

// A sandbox that is ready, and turns on it, without a loop in sight.
class Sandbox {
 public:
  explicit Sandbox(SandboxOptions options = {});

  wire::Ready ready;
  execution::ExecutionResult run(execution::WireRequest request, execution::OnEvent on_event = {});
  execution::ExecutionResult run(const std::string& script, double timeout_seconds = 20);
  execution::ExecutionResult step(const std::string& script, double timeout_seconds = 20);
  // The same with all its events, and with its cancellation once one of them `is_due`.
  using Events = std::vector<wire::Event>;
  execution::ExecutionResult run(execution::WireRequest request, Events& events);
  execution::ExecutionResult run_and_cancel(execution::WireRequest request,
                                            const std::function<bool(const wire::Event&)>& is_due);
  wire::ResetDone reset();
  // One line to init as it is, and the next event.
  wire::Event exchange(const std::string& line);
  // Bytes to init as they are, and all its lines up to the one that contains `last`.
  std::vector<std::string> raw_exchange(const std::string& bytes, const std::string& last);

  SandboxProcess& process() { return process_; }
  asio::io_context& loop() { return loop_; }
  execution::ScriptExecutor& executor() { return executor_; }

 private:
  asio::io_context loop_;
  SandboxProcess process_;
  execution::ScriptExecutor executor_;
};

}  // namespace hearth::test
