// init/command.h: one command: what it may use and say, and how it ended.
//
//              the program runs          it exited                  no process of it is left
//   starting ───────────────────▶ runs ─────────────▶ its tree ends ─────────────────▶ over
//       │                          │                      ▲            (all output was read)
//       │ no such program          └── deadline, cancel, ─┘
//       └──────────────────────────    output limit           what is left is killed
#pragma once

#include "init/command_input.h"
#include "init/command_output.h"
#include "init/command_process.h"
#include "init/limits.h"
#include "init/process_table.h"
#include "init/turn_output.h"
#include "wire/messages.h"

#include <poll.h>
#include <sys/resource.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::init {

// Where its standard streams lead, when not to events and from nothing.
struct CommandStreams {
  std::shared_ptr<CommandInput> input = {};
  std::shared_ptr<CommandOutput> output = {};
};

class Command {
 public:
  // Both references must outlive it. Throws OsError if it cannot be started.
  Command(const wire::ExecRequest& request, const CommandPlan& plan, int script,
          CommandStreams streams, HostLink& host, const ProcessTable& processes,
          std::uint64_t memory_kills);

  const std::string& execution_id() const { return execution_id_; }
  pid_t runner() const { return process_.runner(); }
  bool is_background() const { return is_background_; }
  wire::CommandInfo info() const;

  void add_interests(std::vector<pollfd>& polled) const;
  Clock::time_point wake_at() const;

  void cancel(Clock::time_point now);
  // Without effect when the command has exited.
  void signal(int number, bool whole_tree) const;
  void resize(const wire::TerminalSize& size) const { process_.resize(size); }

  void runner_exited(int wait_status, const rusage& usage);
  // Reads what there is, and ends what has to end. True when it is over and has said so.
  bool advance(Clock::time_point now, std::uint64_t memory_kills);
  // Says that it was cancelled; what becomes of its processes is the caller's.
  void abandon();
  // A process of it killed its runner, so what is left of it is not known.
  bool lost_its_tree() const { return lost_its_tree_; }

 private:
  bool has_exited() const { return wait_status_ || failure_; }
  void resume_runner() const;
  void take_reports(Clock::time_point now);
  void enforce_deadline(Clock::time_point now);
  void kill_tree(Clock::time_point now);
  void feed();
  bool pump();
  bool gives_up_delivery(Clock::time_point now);
  bool read_text(os::UniqueFd& fd, Stream stream);
  wire::Ending ending() const;
  void report_error(wire::Ending ending);
  bool is_heard() const { return !is_background_ || pid_ == 0; }
  void conclude(std::uint64_t memory_kills);
  wire::ScriptDone facts(std::uint64_t memory_kills) const;

  std::string execution_id_;
  std::string program_;
  bool is_background_;
  TurnOutput events_;
  std::shared_ptr<CommandInput> input_;  // null: none
  std::shared_ptr<CommandOutput> output_;
  const ProcessTable& processes_;
  std::uint64_t memory_kills_before_;
  std::uint64_t max_output_bytes_;
  double timeout_seconds_;
  Clock::time_point started_at_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point kill_at_ = Clock::time_point::max();
  Clock::time_point next_kill_at_{};
  Clock::time_point deliver_until_ = Clock::time_point::max();
  int kills_ = 0;

  pid_t pid_ = 0;  // once its program runs
  std::optional<RunnerReport> failure_;
  std::optional<int> wait_status_;
  Clock::time_point ended_at_{};
  std::optional<wire::Ending> reason_;  // why it is to end; the first counts
  std::optional<wire::ScriptDone> done_;
  bool warned_ = false;  // was told of its deadline
  bool lost_its_tree_ = false;
  rusage usage_{};
  CommandProcess process_;
};

}  // namespace hearth::init
