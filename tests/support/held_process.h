// tests/support/held_process.h: a process that gets no CPU time, whatever the scheduler would give.
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>

namespace hearth::test {

// The process stops where it is. When it is killed it stops again, before it releases anything and,
// if it is the first of its pid namespace, before the others are killed with it. Belongs to the
// thread that makes it.
class HeldProcess {
 public:
  explicit HeldProcess(pid_t pid) : pid_(pid) {
    REQUIRE(::ptrace(PTRACE_SEIZE, pid_, nullptr, PTRACE_O_TRACEEXIT) == 0);
    REQUIRE(::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) == 0);
    REQUIRE(::waitpid(pid_, nullptr, __WALL) == pid_);
  }
  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;

  bool was_killed() {
    constexpr int stopped_at_exit = SIGTRAP | (PTRACE_EVENT_EXIT << 8);
    int status = 0;
    if (!was_killed_ && ::waitpid(pid_, &status, __WALL | WNOHANG) == pid_)
      was_killed_ = WIFSTOPPED(status) && status >> 8 == stopped_at_exit;
    return was_killed_;
  }
  void let_go() const { REQUIRE(::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr) == 0); }

 private:
  pid_t pid_;
  bool was_killed_ = false;
};

}  // namespace hearth::test
