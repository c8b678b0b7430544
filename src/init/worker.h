// init/worker.h: a process that waits for a script or runs one, and init's ends of its pipes.
#pragma once

#include "init/limits.h"
#include "init/ordered_output.h"
#include "init/process_usage.h"
#include "os/unique_fd.h"

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace hearth::init {

// A process that shares a worker's memory and sleeps in the kernel with every signal blocked. While
// it is alive, the kernel need not free that memory when the worker exits, which is most of the
// cost of an exit.
struct MemoryHolder {
  pid_t pid = 0;  // 0 if there is none

  // When the first script arrives.
  void note_cpu_time() { cpu_time_ = cpu_time_of(pid); }
  // Blocked signals alone do not protect it from the script. A process that stops and continues it,
  // or traces it, brings it back to user space, where all memory is the script's. But it cannot do
  // anything there without CPU time.
  bool has_run() const { return cpu_time_of(pid) != cpu_time_; }
  void kill() const;

 private:
  std::chrono::nanoseconds cpu_time_{};
};

class Worker {
 public:
  // The pipes' other ends, to be sent to the maker.
  struct FarEnds {
    os::UniqueFd stdout_write, stderr_write, emit_write, run_read;
  };
  static Worker create(FarEnds& far_ends);
  // A worker made before init started: stdout, stderr, emit, run. Takes ownership.
  static Worker adopt(const std::array<int, 4>& near_ends);

  pid_t pid = 0;  // 0 until it has reported that it starts
  MemoryHolder holder;
  StepUsage usage;

  int stdout_fd() const { return stdout_.get(); }
  int stderr_fd() const { return stderr_.get(); }
  int emit_fd() const { return emit_.get(); }
  int run_fd() const { return run_.get(); }

  // Reads what the worker has written and hands it over in order, at most a few chunks at a time.
  // With `may_have_text` false, stdout and stderr are not read at first. False if there was
  // nothing.
  bool pump(OutputSink& sink, bool may_have_text = true);
  // All other ends are closed and everything was read.
  bool drained() const { return !stdout_ && !stderr_ && !emit_; }
  void finish(OutputSink& sink) { output_.finish(sink); }
  // Reads what it has written since its last step, and drops it.
  struct Dropped {
    std::uint64_t text_bytes = 0, records = 0;
  };
  Dropped drop_output();

  void queue_request(std::string line);
  // Writes what the pipe takes. Drops the rest if the worker has closed its end: its exit status
  // then says why.
  void flush_request();
  bool request_pending() const { return !request_.empty(); }

  // A step reports its end, but only a worker that reads its run pipe again has really ended it.
  // Until `back_by` the worker may still be busy with threads that the step left.
  void expect_back(Clock::time_point check_at, Clock::time_point back_by);
  bool expected_back() const { return back_by_ != never; }
  Clock::time_point check_at() const { return check_at_; }
  Clock::time_point back_by() const { return back_by_; }
  void send_check(Clock::time_point now);  // an empty line, for it to read
  bool has_come_back() const;              // has read some of what was sent since its step's end
  void forget_return() { check_at_ = back_by_ = never; }

 private:
  void make_our_ends_nonblocking() const;
  bool read_texts();
  bool read_text(os::UniqueFd& fd, Stream stream);
  bool read_records(bool& progress);

  static constexpr auto never = Clock::time_point::max();

  os::UniqueFd stdout_, stderr_, emit_, run_;
  OrderedOutput output_;
  std::string request_;  // still to be written
  Clock::time_point check_at_ = never;
  Clock::time_point back_by_ = never;
  std::uint64_t sent_bytes_ = 0;  // since its last step ended
};

}  // namespace hearth::init
