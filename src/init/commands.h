// init/commands.h: the commands of the sandbox. They run beside a turn and beside each other, each
// in a process tree of its own, which the sweep after a turn leaves alone.
#pragma once

#include "init/background_commands.h"
#include "init/command.h"
#include "init/host_link.h"
#include "init/memory_kills.h"
#include "init/open_streams.h"
#include "init/options.h"
#include "init/sweep.h"
#include "init/worker_slots.h"
#include "wire/messages.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace hearth::init {

class Commands {
 public:
  // All but `options` must outlive it.
  Commands(const Options& options, HostLink& host, OpenStreams& streams, WorkerSlots& workers,
           Sweep& sweep)
      : packages_(options.packages),
        host_(host),
        streams_(streams),
        workers_(workers),
        sweep_(sweep) {}

  void accept(const wire::ExecRequest& request);
  // Without effect if no such command runs.
  void accept(const wire::SignalRequest& request);
  void accept(const wire::ResizeRequest& request);
  void cancel(const wire::CancelRequest& request);
  void accept(const wire::ListCommands& request);
  void accept(const wire::AttachCommand& request);

  void add_interests(std::vector<pollfd>& polled) const;
  Clock::time_point wake_at() const;
  // False if the process that exited is no command's runner.
  bool handle_exit(pid_t pid, int wait_status, const rusage& usage);
  void advance(Clock::time_point now);
  // Init kills all processes, for memory that no cgroup counts.
  void note_memory_kill(const std::string& why);

  // Before a reset, which kills their processes. Each is told to have been cancelled.
  void forget_all();
  // True if processes of a command may be alive that are in no command's tree any more.
  bool left_strays() const { return left_strays_; }
  void strays_are_gone() { left_strays_ = false; }

 private:
  void start(const wire::ExecRequest& request);
  void open_streams(const wire::ExecRequest& request, const std::shared_ptr<CommandInput>& input,
                    const std::shared_ptr<StreamOutput>& output);
  bool advance(Command& command, Clock::time_point now, std::uint64_t memory_kills);
  bool can_open(const wire::ExecRequest& request) const;
  void refuse(const wire::ExecRequest& request, wire::Ending ending, std::string name,
              std::string message);
  Command* find(const std::string& execution_id);

  std::string packages_;
  HostLink& host_;
  OpenStreams& streams_;
  WorkerSlots& workers_;
  Sweep& sweep_;
  MemoryKills memory_kills_;
  std::vector<std::unique_ptr<Command>> running_;
  BackgroundCommands background_{streams_};
  bool left_strays_ = false;
};

}  // namespace hearth::init
