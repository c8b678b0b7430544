#include "init/command_runner.h"

#include "init/limits.h"
#include "init/process_scope.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace hearth::init {
namespace {

using Kind = RunnerReport::Kind;

constexpr int report_place = 4;
constexpr int first_unused = 5;

void report_to(int fd, Kind kind, std::int32_t value) {
  const RunnerReport report{kind, value};
  if (::write(fd, &report, sizeof report) != sizeof report) ::_exit(1);
}

// Standard streams, script, report, and no other descriptor of init.
void take_places(const CommandEnds& ends, int report) {
  std::array<int, first_unused> wanted{ends.input, ends.output, ends.errors, ends.script, report};
  // A descriptor's present number may be the place of another.
  for (int& fd : wanted)
    if (fd >= 0) fd = ::fcntl(fd, F_DUPFD_CLOEXEC, first_unused);
  for (int place = 0; place < first_unused; ++place) {
    const int fd = wanted.at(static_cast<std::size_t>(place));
    if (fd < 0) {
      ::close(place);
    } else {
      ::dup3(fd, place, place == report_place ? O_CLOEXEC : 0);
    }
  }
  ::close_range(first_unused, ~0U, 0);
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The same limits as a worker's.
void limit() {
  const rlimit files{script_files, script_files};
  ::setrlimit(RLIMIT_NOFILE, &files);
  const rlimit no_bytes{0, 0};
  ::setrlimit(RLIMIT_MSGQUEUE, &no_bytes);
  ::umask(022);
  enter_process_scope();
}

[[noreturn]] void give_up(int failures, Kind kind) {
  report_to(failures, kind, errno);
  ::_exit(127);
}

[[noreturn]] void become_command(const CommandPlan& plan, const CommandEnds& ends, int failures) {
  ::setsid();
  if (ends.terminal) ::ioctl(STDIN_FILENO, TIOCSCTTY, 0);
  limit();
  if (::chdir(plan.directory.c_str()) != 0) give_up(failures, Kind::no_directory);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> environment = pointers_to(plan.environment);
  environ = environment.data();  // execvp looks for the program in this PATH
  std::vector<char*> arguments = pointers_to(plan.argv);
  ::execvp(arguments[0], arguments.data());
  give_up(failures, Kind::no_program);
}

pid_t start(const CommandPlan& plan, const CommandEnds& ends) {
  std::array<int, 2> failures{};
  if (::pipe2(failures.data(), O_CLOEXEC) != 0) ::_exit(1);
  const pid_t pid = ::fork();
  if (pid == 0) become_command(plan, ends, failures[1]);
  const int reason = errno;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
  if (ends.script >= 0) ::close(script_fd_of_command);
  ::close(failures[1]);
  RunnerReport failure{Kind::no_program, reason};
  if (pid > 0 && ::read(failures[0], &failure, sizeof failure) == 0) failure = {Kind::started, pid};
  ::close(failures[0]);
  report_to(report_place, failure.kind, failure.value);
  return pid;
}

// Whatever the command's processes leave behind becomes a child of this one.
void wait_for_all(pid_t command) {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, 0)) != command)
    if (pid < 0) return;  // it could not be started
  const int status_of_command = status;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
  }
  report_to(report_place, pid == 0 ? Kind::left_processes : Kind::exited, status_of_command);
  while (::waitpid(-1, &status, 0) > 0) {
  }
}

}  // namespace

// All signals stay blocked in it: only SIGKILL and SIGSTOP reach it.
void become_runner(const CommandPlan& plan, CommandEnds ends, int report) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "hearth-command");
  ::signal(SIGCHLD, SIG_DFL);
  take_places(ends, report);
  wait_for_all(start(plan, ends));
  ::_exit(0);
}

}  // namespace hearth::init
