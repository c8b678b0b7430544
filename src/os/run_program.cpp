#include "os/run_program.h"

#include "base/error.h"
#include "os/pairs.h"
#include "os/spawned_program.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace hearth::os {
namespace {

using Clock = std::chrono::steady_clock;

// Readable once the token was asked to stop.
class StopEvent {
 public:
  explicit StopEvent(std::stop_token stop)
      : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), on_stop_(std::move(stop), Raise{*this}) {
    if (!event_) throw OsError("eventfd");
  }
  int fd() const { return event_.get(); }

 private:
  struct Raise {
    const StopEvent& self;
    void operator()() const {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(self.fd(), &one, sizeof one);
    }
  };
  UniqueFd event_;
  std::stop_callback<Raise> on_stop_;
};

class Conversation {
 public:
  Conversation(const ProgramRequest& request, ProgramResult& result, UniqueFd input,
               UniqueFd output, UniqueFd errors)
      : request_(request),
        result_(result),
        unsent_(request.input),
        input_(std::move(input)),
        output_(std::move(output)),
        errors_(std::move(errors)) {
    for (const int fd : {input_.get(), output_.get(), errors_.get()})
      ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    // While it stays open, the program knows that we live.
    if (unsent_.empty() && !request.ends_with_caller) input_.reset();
  }

  // Until the program exits or the deadline. Not until the end of its output: a helper it left
  // behind may hold that open for ever.
  void run(const SpawnedProgram& program, Clock::time_point deadline) {
    const StopEvent stop(request_.stop);
    bool exited = false;
    while (!exited) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      result_.timed_out = left.count() <= 0;
      result_.stopped = request_.stop.stop_requested();
      if (result_.timed_out || result_.stopped) return program.kill_group();
      // Bounded: a time-out of weeks does not fit into an int.
      const int wait_ms = static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
      std::array<pollfd, 5> events = {{{program.pidfd(), POLLIN, 0},
                                       {unsent_.empty() ? -1 : input_.get(), POLLOUT, 0},
                                       {output_.get(), POLLIN, 0},
                                       {errors_.get(), POLLIN, 0},
                                       {stop.fd(), POLLIN, 0}}};
      const int ready = ::poll(events.data(), events.size(), wait_ms);
      if (ready < 0 && errno != EINTR) throw OsError("poll");
      if (ready <= 0) continue;
      exited = events[0].revents != 0;
      if (events[1].revents != 0) write_some();
      if (events[2].revents != 0) read_output();
      if (events[3].revents != 0) read_some(errors_, result_.errors);
    }
  }

  // What an ended program left in its pipes.
  void drain() {
    // Bounded: a helper that keeps writing does not keep us.
    for (int reads = 0; reads < 64 && has_data(output_); ++reads) read_output();
    for (int reads = 0; reads < 64 && has_data(errors_); ++reads)
      read_some(errors_, result_.errors);
  }

 private:
  void write_some() {
    const ssize_t sent = ::send(input_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent > 0) unsent_.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 || unsent_.empty()) input_.reset();  // it may well end without reading all
  }

  static bool has_data(const UniqueFd& fd) {
    pollfd event{fd.get(), POLLIN, 0};
    return fd && ::poll(&event, 1, 0) > 0;
  }

  void read_output() {
    const std::string_view piece = read_some(output_, result_.output);
    if (request_.on_output && !piece.empty()) request_.on_output(piece);
  }

  // Takes what is there now; all of it is returned, what fits is kept.
  std::string_view read_some(UniqueFd& fd, std::string& into) {
    const ssize_t size = ::read(fd.get(), buffer_.data(), buffer_.size());
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) fd.reset();
    if (size <= 0) return {};
    const std::string_view piece(buffer_.data(), static_cast<std::size_t>(size));
    const std::size_t room = request_.max_output_bytes - into.size();
    into.append(piece.substr(0, room));
    result_.truncated = result_.truncated || piece.size() > room;
    return piece;
  }

  const ProgramRequest& request_;
  ProgramResult& result_;
  std::string_view unsent_;
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd errors_;
  std::array<char, 65536> buffer_{};
};

}  // namespace

ProgramResult run_program(const ProgramRequest& request) {
  // A socket, because writing to one can be told not to raise SIGPIPE.
  SocketPair input = make_socket_pair(SOCK_STREAM);
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  const auto deadline = Clock::now() + request.timeout;
  const int errors_of_child =
      request.errors_to_output ? output.write_end.get() : errors.write_end.get();
  SpawnedProgram program(request, {input.theirs.get(), output.write_end.get(), errors_of_child});
  for (UniqueFd* childs : {&input.theirs, &output.write_end, &errors.write_end}) childs->reset();

  ProgramResult result;
  Conversation conversation(request, result, std::move(input.ours), std::move(output.read_end),
                            std::move(errors.read_end));
  conversation.run(program, deadline);
  // Not reaped yet, so the group is still its own. What it left there would die with us only.
  if (request.ends_with_caller) program.kill_group();
  const siginfo_t exited = program.wait();
  conversation.drain();
  if (exited.si_code == CLD_EXITED) {
    result.exit_code = exited.si_status;
  } else {
    result.ended_by_signal = exited.si_status;
  }
  return result;
}

}  // namespace hearth::os
