#include "os/spawned_program.h"

#include "base/error.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <string>
#include <vector>

extern char** environ;

namespace hearth::os {
namespace {

class SpawnSettings {
 public:
  SpawnSettings(const ProgramStreams& streams, const ProgramRequest& request) {
    copy(request.passed_fds);
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_adddup2(&actions_, streams.input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, streams.output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, streams.errors, STDERR_FILENO);
    const int first_closed = pass_copies();
    // Ours are close-on-exec; what others left open in this process is not the program's either.
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, first_closed);
    if (!request.directory.empty())
      ::posix_spawn_file_actions_addchdir_np(&actions_, request.directory.c_str());
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
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  // Out of the way: the place of one may be where another is to go.
  void copy(const std::vector<int>& fds) {
    constexpr int out_of_the_way = 64;
    for (const int fd : fds) {
      copies_.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, out_of_the_way));
      if (!copies_.back()) throw OsError("duplicate a descriptor");
    }
  }

  // Returns the first descriptor that is not the program's. The one before them is the shell's, see
  // `guarded`.
  int pass_copies() {
    if (copies_.empty()) return STDERR_FILENO + 1;
    int next = ProgramRequest::first_passed_fd;
    ::posix_spawn_file_actions_addclose(&actions_, next - 1);
    for (const UniqueFd& fd : copies_)
      ::posix_spawn_file_actions_adddup2(&actions_, fd.get(), next++);
    return next;
  }

  std::vector<UniqueFd> copies_;
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Waits beside the program for the end of the socket whose other end only its caller holds, then
// kills the group. A parent-death signal would reach the program alone, not what it started.
constexpr const char* guarded =
    "exec 3<&0 </dev/null\n"
    "{ while read -r line; do :; done <&3; kill -KILL 0; } >/dev/null 2>&1 &\n"
    "exec 3<&-\n"
    "exec \"$@\"\n";

std::vector<std::string> command_of(const ProgramRequest& request) {
  std::vector<std::string> command;
  if (request.ends_with_caller) command = {"/bin/sh", "-c", guarded, "sh"};
  command.push_back(request.program);
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  return command;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t spawn(const ProgramRequest& request, const ProgramStreams& streams) {
  const SpawnSettings settings(streams, request);
  std::vector<std::string> command = command_of(request);
  std::vector<std::string> environment = request.environment.value_or(std::vector<std::string>());
  const std::vector<char*> own = pointers_to(environment);
  pid_t pid = 0;
  const int failure =
      ::posix_spawnp(&pid, command.front().c_str(), settings.actions(), settings.attributes(),
                     pointers_to(command).data(), request.environment ? own.data() : environ);
  if (failure != 0) throw OsError("start " + request.program, failure);
  return pid;
}

}  // namespace

SpawnedProgram::SpawnedProgram(const ProgramRequest& request, const ProgramStreams& streams)
    : pid_(spawn(request, streams)), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))) {
  if (pidfd_) return;
  const OsError failure("pidfd_open");
  kill_group();
  wait();
  throw failure;
}

SpawnedProgram::~SpawnedProgram() {
  if (pid_ <= 0) return;
  kill_group();
  wait();
}

void SpawnedProgram::kill_group() const { ::kill(-pid_, SIGKILL); }

siginfo_t SpawnedProgram::wait() {
  siginfo_t exited{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &exited, WEXITED) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return exited;
}

}  // namespace hearth::os
