// init/command.h: one command: what it may use and say, and how it ended.
//
//              the program runs          it exited                  no process of it is left
//   starting ───────────────────▶ runs ─────────────▶ its tree ends ─────────────────▶ over
//       │                          │                      ▲            (all output was read)
//       │ no such program          └── deadline, cancel, ─┘
//       └──────────────────────────    output limit           what is left is killed
#pragma once

#include "init/command_process.h"
#include "init/limits.h"
#include "init/ordered_output.h"
#include "init/process_table.h"
#include "init/turn_output.h"
#include "wire/messages.h"

#include <poll.h>
#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

namespace hearth::init {

class Command : private OutputSink {
 public:
  // Both references must outlive it. Throws OsError if it cannot be started.
  Command(const wire::ExecRequest& request, const CommandPlan& plan, int script, HostLink& host,
          const ProcessTable& processes, std::uint64_t memory_kills);

  const std::string& execution_id() const { return execution_id_; }
  pid_t runner() const { return process_.runner(); }

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
  void on_text(Stream stream, std::string_view bytes) override { output_.add_text(stream, bytes); }
  void on_record(std::string_view /*record*/) override {}
  void on_malformed_record() override {}

  bool has_exited() const { return wait_status_ || failure_; }
  void take_reports(Clock::time_point now);
  void enforce_deadline(Clock::time_point now);
  void kill_tree(Clock::time_point now);
  bool pump();
  bool read_text(os::UniqueFd& fd, Stream stream);
  wire::Ending ending() const;
  void report_error(wire::Ending ending);
  void conclude(std::uint64_t memory_kills);

  std::string execution_id_;
  std::string program_;
  TurnOutput output_;
  OrderedOutput text_;
  const ProcessTable& processes_;
  std::uint64_t memory_kills_before_;
  std::uint64_t max_output_bytes_;
  double timeout_seconds_;
  Clock::time_point started_at_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point kill_at_ = Clock::time_point::max();
  Clock::time_point next_kill_at_{};
  int kills_ = 0;

  pid_t pid_ = 0;  // once its program runs
  std::optional<RunnerReport> failure_;
  std::optional<int> wait_status_;
  Clock::time_point ended_at_{};
  std::optional<wire::Ending> reason_;  // why it is to end; the first counts
  bool warned_ = false;                 // was told of its deadline
  bool lost_its_tree_ = false;
  rusage usage_{};
  CommandProcess process_;
};

}  // namespace hearth::init
