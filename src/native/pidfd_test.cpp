#include "native/pidfd.h"

#include "os/unique_fd.h"
#include "tests/support/no_descriptors.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>

using namespace hearth;
using namespace hearth::native;

namespace {

// A process that does nothing until it is killed.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
    pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    kill_process(pidfd());
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }

 private:
  pid_t pid_;
  os::UniqueFd pidfd_;
};

// Begins now, ends with finish().
class Wait {
 public:
  Wait(asio::io_context& loop, int pidfd) : loop_(loop) {
    asio::co_spawn(loop, process_ended(pidfd), [this](const std::exception_ptr& thrown) {
      is_over_ = true;
      if (thrown) std::rethrow_exception(thrown);
    });
    loop.poll();
  }
  bool is_over() const { return is_over_; }
  void finish() {
    while (!is_over_) loop_.run_one();
  }

 private:
  asio::io_context& loop_;
  bool is_over_ = false;
};

}  // namespace

TEST_CASE("only a process of a namespace below, or one that has exited, is below") {
  Sleeper beside;
  CHECK_FALSE(is_below(beside.pidfd()));
  const os::UniqueFd own(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  CHECK_FALSE(is_below(own.get()));
  const os::UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(is_below(other.get()));
  kill_process(beside.pidfd());
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(beside.pid()), &info, WEXITED | WNOWAIT);
  CHECK_FALSE(is_below(own.get()));
}

TEST_CASE("a process is known by its number until it has ended") {
  const Sleeper sleeper;
  CHECK(pid_of(sleeper.pidfd()) == sleeper.pid());
  asio::io_context loop(1);
  Wait one(loop, sleeper.pidfd());
  Wait two(loop, sleeper.pidfd());
  CHECK_FALSE(one.is_over());
  kill_process(sleeper.pidfd());
  one.finish();
  two.finish();
}

TEST_CASE("the end of a process is awaited also when no descriptor is free") {
  const Sleeper sleeper;
  asio::io_context loop(1);
  Wait prepares_the_loop(loop, sleeper.pidfd());
  const test::NoDescriptors none;
  Wait wait(loop, sleeper.pidfd());
  CHECK_FALSE(wait.is_over());
  kill_process(sleeper.pidfd());
  wait.finish();
  prepares_the_loop.finish();
}
