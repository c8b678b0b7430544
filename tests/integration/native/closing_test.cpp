// Spawns that are given up in the middle, and what becomes of what was half made.
#include "tests/support/host_view.h"
#include "tests/support/native_sandbox.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <exception>

using namespace hearth;
using namespace hearth::test;

namespace {

// One that may still be on its way.
struct Spawn {
  explicit Spawn(NativeSandboxes& sandboxes) : loop(sandboxes.loop()) {
    asio::co_spawn(
        loop, sandboxes.source().spawn(),
        asio::bind_cancellation_slot(cancel.slot(), [this](const std::exception_ptr& thrown,
                                                           std::unique_ptr<backend::Sandbox> made) {
          is_over = true;
          failure = thrown;
          sandbox = std::move(made);
        }));
    settle();
  }
  void settle() const {
    loop.restart();
    while (loop.poll() > 0) loop.restart();
  }
  void finish() const {
    loop.restart();
    while (!is_over) loop.run_one();
  }
  template <typename Failure>
  bool failed_with() const {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const Failure&) {
      return true;
    } catch (...) {
      return false;
    }
    return false;
  }

  asio::io_context& loop;
  asio::cancellation_signal cancel;
  std::unique_ptr<backend::Sandbox> sandbox;
  std::exception_ptr failure;
  bool is_over = false;
};

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const pid_t pid : all_processes())
    if (parent_of(pid) == parent) children.push_back(pid);
  return children;
}

void stop(pid_t pid) {
  REQUIRE(::kill(pid, SIGSTOP) == 0);
  while (status_line(pid, "State").find('T') == std::string::npos) ::usleep(1000);
}

}  // namespace

TEST_CASE("a spawn that is cancelled during the fork ends as cancelled, and so does the sandbox") {
  NativeSandboxes sandboxes;
  const std::unique_ptr<backend::Sandbox> other = sandboxes.spawn();
  const pid_t zygote = zygote_of(*other);
  stop(zygote);
  Spawn spawn(sandboxes);
  spawn.cancel.emit(asio::cancellation_type::terminal);
  spawn.settle();
  CHECK_FALSE(spawn.is_over);  // what is forked must have an owner
  REQUIRE(::kill(zygote, SIGCONT) == 0);
  spawn.finish();
  CHECK(spawn.failed_with<boost::system::system_error>());
  CHECK_FALSE(spawn.sandbox);
  while (children_of(zygote).size() > 1) sandboxes.loop().run_one_for(std::chrono::milliseconds(1));
  CHECK(zygote_of(*other) == zygote);
}
