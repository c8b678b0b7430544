// Which worker has which use, and which processes survive the end of a turn.
#include "init/worker_slots.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

using namespace hearth::init;
using hearth::wire::Mode;

namespace {

// A process that sleeps in a system call when the constructor returns, and uses no CPU time after
// it.
class Sleeper {
 public:
  Sleeper() : pid(::fork()) {
    if (pid == 0)
      for (;;) ::pause();
    // "running", or "-1" in a page fault, before it has come that far.
    std::string system_call;
    do std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/syscall"), system_call);
    while (system_call.starts_with("running") || system_call.starts_with("-1"));
    REQUIRE_FALSE(system_call.empty());
  }
  ~Sleeper() {
    if (reaped_) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  // The signal that killed it, after waiting for it.
  int killed_by() {
    int status = 0;
    ::waitpid(pid, &status, 0);
    reaped_ = true;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  const pid_t pid;

 private:
  bool reaped_ = false;
};

struct Processes {
  Sleeper worker;
  Sleeper holder;

  Worker prepared() const {
    std::array<int, 4> fds{};
    for (int& fd : fds) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    Worker made = Worker::adopt(fds);
    made.pid = worker.pid;
    made.holder.pid = holder.pid;
    return made;
  }
};

std::vector<pid_t> sorted(std::vector<pid_t> pids) {
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace

TEST_CASE("the prepared worker is taken for one use") {
  const Processes processes;
  WorkerSlots slots;
  slots.add_prepared(processes.prepared());
  CHECK(slots.take(Mode::plan).pid == processes.worker.pid);
  CHECK_FALSE(slots.has_prepared());
  CHECK(slots.has_one_for(Mode::plan));
  CHECK_FALSE(slots.has_one_for(Mode::interactive));
}

TEST_CASE("a sweep spares the workers that are not the turn's") {
  Processes interactive;
  Processes plan;
  Processes next;
  WorkerSlots slots;
  slots.add_prepared(interactive.prepared());
  slots.take(Mode::interactive);
  slots.add_prepared(plan.prepared());
  slots.take(Mode::plan);
  slots.add_prepared(next.prepared());

  const std::vector<pid_t> of_next{next.worker.pid, next.holder.pid};
  CHECK(sorted(slots.spared_after_turn(Mode::interactive, false)) == sorted(of_next));
  CHECK(sorted(slots.spared_after_turn(Mode::plan, false)) ==
        sorted({next.worker.pid, next.holder.pid, interactive.worker.pid, interactive.holder.pid}));
}

TEST_CASE("the memory holder of a worker that exited by itself is spared unless it has run") {
  Processes processes;
  WorkerSlots slots;
  slots.add_prepared(processes.prepared());
  Worker& worker = slots.take(Mode::plan);
  worker.pid = 0;  // reaped
  CHECK(slots.spared_after_turn(Mode::plan, true) == std::vector{processes.holder.pid});
  CHECK(slots.spared_after_turn(Mode::plan, false).empty());

  worker.holder.pid = ::getpid();  // has used other CPU time than the one that was noted
  CHECK(slots.spared_after_turn(Mode::plan, true).empty());
  worker.holder.pid = 0;
}

TEST_CASE("after its turn a worker's holder is killed, and leftovers are possible only of steps") {
  Processes processes;
  WorkerSlots slots;
  slots.add_prepared(processes.prepared());
  slots.take(Mode::interactive).pid = 0;
  slots.expect_leftovers();
  slots.remove(Mode::interactive);
  CHECK(processes.holder.killed_by() == SIGKILL);
  CHECK_FALSE(slots.has_interactive());
  CHECK_FALSE(slots.leftovers_possible());
}

TEST_CASE("the exit of an interactive worker between steps is reported once") {
  Processes processes;
  WorkerSlots slots;
  slots.add_prepared(processes.prepared());
  slots.take(Mode::interactive);
  CHECK(slots.take_loss().empty());
  CHECK(slots.handle_exit(processes.worker.pid));
  CHECK(processes.holder.killed_by() == SIGKILL);
  CHECK(slots.take_loss() == "has exited");
  CHECK(slots.take_loss().empty());
  CHECK_FALSE(slots.handle_exit(processes.worker.pid));
}

TEST_CASE("the exit of a holder is noted, and its worker stays") {
  Processes processes;
  WorkerSlots slots;
  slots.add_prepared(processes.prepared());
  CHECK(slots.handle_exit(processes.holder.pid));
  CHECK(slots.has_prepared());
  CHECK(slots.take(Mode::plan).holder.pid == 0);
}

TEST_CASE("an interactive worker that is killed is lost for a reason, and a reset forgets it") {
  Processes processes;
  WorkerSlots slots;
  slots.add_prepared(processes.prepared());
  slots.take(Mode::interactive);
  slots.expect_leftovers();
  slots.kill_interactive("was killed");
  CHECK(processes.worker.killed_by() == SIGKILL);
  CHECK(processes.holder.killed_by() == SIGKILL);
  SUBCASE("the next step is told") { CHECK(slots.take_loss() == "was killed"); }
  SUBCASE("after a reset there is nothing to tell") {
    slots.forget_all();
    CHECK(slots.take_loss().empty());
    CHECK_FALSE(slots.leftovers_possible());
  }
}
