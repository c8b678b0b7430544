// init/worker.h: a process forked by the harness, waiting for a script or running one, and our ends
// of its pipes.
#pragma once

#include "init/limits.h"
#include "init/ordered_output.h"
#include "os/unique_fd.h"

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

namespace hearth::init {

class Worker {
 public:
  // The pipes, and the other ends to be sent to the harness: stdout, stderr, emit, run.
  struct FarEnds {
    os::UniqueFd stdout_write, stderr_write, emit_write, run_read;
  };
  static Worker create(FarEnds& far_ends);
  // Of a worker that somebody else made: stdout, stderr, emit, run. They become ours.
  static Worker adopt(const std::array<int, 4>& near_ends);

  pid_t pid = 0;  // 0 until it has said that it starts
  // A process that shares the worker's memory and sleeps in the kernel with every signal blocked.
  // While it lives, the worker's end does not have to take its memory apart, which is most of what
  // an end costs. 0 if there is none.
  pid_t holder = 0;
  double holder_cpu_seconds = 0;        // used when the first script arrived
  double cpu_seconds = 0;               // used when it last fell idle
  double children_seconds = 0;          // used by its children until then
  os::UniqueFd status;                  // its page in /proc, once it outlives a turn
  std::uint64_t peak_memory_bytes = 0;  // as that said last

  int stdout_fd() const { return stdout_.get(); }
  int stderr_fd() const { return stderr_.get(); }
  int emit_fd() const { return emit_.get(); }
  int run_fd() const { return run_.get(); }

  // Reads what the worker has said and hands it over in order, at most a few chunks at a time.
  // Whoever knows that a moment ago no text was there spares us the look. False if there was
  // nothing.
  bool pump(OutputSink& sink, bool may_have_text = true);
  // Nobody holds the other ends any more and all was read.
  bool drained() const { return !stdout_ && !stderr_ && !emit_; }
  void finish(OutputSink& sink) { output_.finish(sink); }
  // Reads what it has said since its last step, and forgets it.
  struct Dropped {
    std::uint64_t text_bytes = 0, records = 0;
  };
  Dropped drop_output();

  void queue_request(std::string line);
  // Writes what the pipe takes. What cannot be written any more is dropped: the worker's end says
  // the rest.
  void flush_request();
  bool request_pending() const { return !request_.empty(); }

  // A step claims its end, but only a worker that reads its run pipe again has come to it. Until
  // `back_by` one that has not may be busy with what its step left.
  void expect_back(Clock::time_point check_at, Clock::time_point back_by);
  bool expected_back() const { return back_by_ != never; }
  Clock::time_point check_at() const { return check_at_; }
  Clock::time_point back_by() const { return back_by_; }
  void send_check(Clock::time_point now);  // an empty line, for it to read
  bool has_come_back() const;              // it has read some of what was written since its end
  void forget_return() { check_at_ = back_by_ = never; }

 private:
  void make_our_ends_nonblocking() const;
  bool read_texts();
  bool read_text(os::UniqueFd& fd, Stream stream);
  bool read_records(bool& progress);

  static constexpr auto never = Clock::time_point::max();

  os::UniqueFd stdout_, stderr_, emit_, run_;
  OrderedOutput output_;
  std::string request_;  // what is left to write
  Clock::time_point check_at_ = never;
  Clock::time_point back_by_ = never;
  std::uint64_t sent_bytes_ = 0;  // since the end of its last step
};

}  // namespace hearth::init
