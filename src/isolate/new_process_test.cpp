// What a new process does to itself, in a child that needs no sandbox.
#include "isolate/children.h"
#include "isolate/descriptors.h"
#include "isolate/failure.h"
#include "isolate/resource_limits.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <string>

using namespace hearth;
using namespace hearth::isolate;

namespace {

// The exit code of a child that runs `work`, 0 for true.
template <typename Work>
int exit_code_of(Work work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(work() ? 0 : 1);
  int status = -1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

bool soft_and_hard_are(int resource, rlim_t soft, rlim_t hard) {
  rlimit limit{};
  return ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0 &&
         limit.rlim_cur == soft && limit.rlim_max == hard;
}

std::string text_of(int fd) {
  std::string text;
  std::array<char, 512> buffer{};
  for (ssize_t size = 0; (size = ::read(fd, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  return text;
}

}  // namespace

TEST_CASE("all descriptors but the kept ones and the standard streams are closed") {
  const auto closes_the_others = [] {
    for (int fd = 3; fd < 40; ++fd) ::dup2(0, fd);
    if (!close_all_but({9, 3, 30, 9})) return false;
    for (int fd = 0; fd < 64; ++fd)
      if (is_open(fd) != (fd < 4 || fd == 9 || fd == 30)) return false;
    return true;
  };
  CHECK(exit_code_of(closes_the_others) == 0);
  CHECK(exit_code_of([] { return close_all_but({}) && is_open(2) && !is_open(3); }) == 0);
}

TEST_CASE("a limit on open files is lowered and never raised") {
  CHECK(exit_code_of([] {
          return limit_files(100, 200) && soft_and_hard_are(RLIMIT_NOFILE, 100, 200) &&
                 limit_files(4096, 4096) && soft_and_hard_are(RLIMIT_NOFILE, 200, 200);
        }) == 0);
}

TEST_CASE("limits are those of the spec, and core dumps are off") {
  CHECK(exit_code_of([] {
          HearthSandboxSpec spec{};
          spec.file_bytes = 12345;
          return set_limits(spec) && soft_and_hard_are(RLIMIT_FSIZE, 12345, 12345) &&
                 soft_and_hard_are(RLIMIT_CORE, 1, 1) && soft_and_hard_are(RLIMIT_MSGQUEUE, 0, 0) &&
                 soft_and_hard_are(RLIMIT_NOFILE, worker_files, init_files);
        }) == 0);
}

TEST_CASE("a failed step is reported with its error, to the host or to init") {
  int pipe[2] = {-1, -1};
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  SUBCASE("a sandbox") {
    CHECK(exit_code_of([&] {
            errno = EPERM;
            fail("mount /proc");
            exit_sandbox(pipe[1]);
            return true;
          }) == 1);
    ::close(pipe[1]);
    CHECK(
        text_of(pipe[0]) ==
        R"({"type":"error","name":"SandboxFailed","message":"mount /proc: Operation not permitted",)"
        "\"traceback\":\"\"}\n");
  }
  SUBCASE("a worker") {
    CHECK(exit_code_of([&] {
            errno = EAGAIN;
            fail("fork a worker");
            exit_worker(pipe[1]);
            return true;
          }) == 1);
    ::close(pipe[1]);
    CHECK(text_of(pipe[0]) ==
          "0 0 {\"type\":\"prepare_failed\",\"message\":\"fork a worker: Resource temporarily "
          "unavailable\"}\n");
  }
  ::close(pipe[0]);
}

TEST_CASE("children stay zombies while a request is answered, and are reaped after it") {
  CHECK(exit_code_of([] {
          keep_zombies();
          const pid_t exited = ::fork();
          if (exited == 0) ::_exit(0);
          siginfo_t info{};
          if (::waitid(P_PID, static_cast<id_t>(exited), &info, WEXITED | WNOWAIT) != 0)
            return false;
          if (::kill(exited, 0) != 0) return false;
          reap_children();
          return ::kill(exited, 0) != 0 && errno == ESRCH;
        }) == 0);
}
