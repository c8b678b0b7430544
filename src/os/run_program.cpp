#include "os/run_program.h"

#include "base/error.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

extern char** environ;

namespace hearth::os {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw OsError("pipe2");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The child's input. A socket, because writing to one can be told not to raise SIGPIPE.
Pipe make_input() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw OsError("socketpair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

class SpawnSettings {
 public:
  SpawnSettings(int input, int output, int errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    // Ours are close-on-exec; what others left open in this process is not the program's either.
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    // A group of its own: a time-out ends its helpers too.
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  pid_t spawn(const ProgramRequest& request) const {
    std::vector<char*> arguments = {const_cast<char*>(request.program.c_str())};
    for (const std::string& argument : request.arguments)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const int failure = ::posix_spawnp(&pid, request.program.c_str(), &actions_, &attributes_,
                                       arguments.data(), environ);
    if (failure != 0) throw OsError("start " + request.program, failure);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// A started program: killed, with its group, and reaped whatever happens to its owner.
class RunningProgram {
 public:
  explicit RunningProgram(pid_t pid)
      : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  RunningProgram(const RunningProgram&) = delete;
  ~RunningProgram() {
    if (pid_ <= 0) return;
    kill_group();
    wait();
  }

  int pidfd() const { return pidfd_.get(); }

  // Safe while the child is not reaped: nobody else can have got its number.
  void kill_group() const { ::kill(-pid_, SIGKILL); }

  siginfo_t wait() {
    siginfo_t exited{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &exited, WEXITED) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return exited;
  }

 private:
  pid_t pid_;
  UniqueFd pidfd_;
};

// Takes what is there now. Returns false at the end of the stream.
bool read_available(int fd, std::string& into, std::size_t limit, bool& truncated) {
  std::array<char, 65536> buffer;
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  const std::size_t room = limit - std::min(limit, into.size());
  into.append(buffer.data(), std::min(room, static_cast<std::size_t>(size)));
  truncated = truncated || static_cast<std::size_t>(size) > room;
  return size > 0;
}

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
    if (unsent_.empty()) input_.reset();
  }

  // Until the program exits or the deadline. Not until the end of its output: a helper it left
  // behind may hold that open for ever.
  void run(RunningProgram& program, Clock::time_point deadline) {
    bool exited = false;
    while (!exited) {
      std::array<pollfd, 4> events = {{{program.pidfd(), POLLIN, 0},
                                       {input_.get(), POLLOUT, 0},
                                       {output_.get(), POLLIN, 0},
                                       {errors_.get(), POLLIN, 0}}};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) {
        result_.timed_out = true;
        program.kill_group();
        return;
      }
      const int ready = ::poll(events.data(), events.size(), static_cast<int>(left.count()));
      if (ready < 0 && errno != EINTR) throw OsError("poll");
      if (ready <= 0) continue;
      exited = events[0].revents != 0;
      if (events[1].revents != 0) write_some();
      if (events[2].revents != 0) read_some(output_, result_.output);
      if (events[3].revents != 0) read_some(errors_, result_.errors);
    }
  }

  // What an ended program left in its pipes.
  void drain() {
    drain(output_, result_.output);
    drain(errors_, result_.errors);
  }

 private:
  void write_some() {
    const ssize_t sent = ::send(input_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent > 0) unsent_.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 || unsent_.empty()) input_.reset();  // it may well end without reading all
  }

  void read_some(UniqueFd& fd, std::string& into) {
    if (!read_available(fd.get(), into, request_.max_output_bytes, result_.truncated)) fd.reset();
  }

  void drain(UniqueFd& fd, std::string& into) {
    // Bounded: a helper that keeps writing does not keep us.
    for (std::size_t dropped = 0; fd && dropped < 64; ++dropped) {
      pollfd event{fd.get(), POLLIN, 0};
      if (::poll(&event, 1, 0) <= 0) return;
      read_some(fd, into);
    }
  }

  const ProgramRequest& request_;
  ProgramResult& result_;
  std::string_view unsent_;
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd errors_;
};

}  // namespace

ProgramResult run_program(const ProgramRequest& request) {
  Pipe input = make_input();
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  const auto deadline = Clock::now() + request.timeout;
  const SpawnSettings settings(input.read_end.get(), output.write_end.get(),
                               errors.write_end.get());
  RunningProgram program(settings.spawn(request));
  if (program.pidfd() < 0) throw OsError("pidfd_open");
  for (UniqueFd* childs : {&input.read_end, &output.write_end, &errors.write_end}) childs->reset();

  ProgramResult result;
  Conversation conversation(request, result, std::move(input.write_end), std::move(output.read_end),
                            std::move(errors.read_end));
  conversation.run(program, deadline);
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
