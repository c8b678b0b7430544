// Spawns that are given up in the middle, and what becomes of what was half made.
#include "tests/support/failure_kind.h"
#include "tests/support/host_view.h"
#include "tests/support/native_sandbox.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/resource.h>
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
    return test::is_failure<Failure>(failure);
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

TEST_CASE("closing a source fails the spawn whose zygote hangs while it loads") {
  const TemporaryDirectory tools;
  tools.write("slow.py", "import time\ntime.sleep(100_000)\n");
  native::ZygoteContent environment = plain_environment();
  environment.tools = tools.path();
  NativeSandboxes sandboxes({}, environment);
  const Spawn first(sandboxes);
  const Spawn second(sandboxes);  // waits for the same zygote
  CHECK_FALSE(first.is_over);
  run_task(sandboxes.loop(), sandboxes.source().close());
  first.settle();
  CHECK(first.failed_with<backend::SpawnError>());
  CHECK(second.failed_with<backend::SpawnError>());
  CHECK(children_of(::getpid()).empty());
  first.finish();
  second.finish();
}

TEST_CASE("closing a source fails the spawn whose zygote hangs while it forks") {
  NativeSandboxes sandboxes;
  std::unique_ptr<backend::Sandbox> alive = sandboxes.spawn();
  stop(zygote_of(*alive));
  const Spawn first(sandboxes);
  const Spawn second(sandboxes);
  CHECK_FALSE(first.is_over);
  run_task(sandboxes.loop(), sandboxes.source().close());
  first.settle();
  CHECK(first.failed_with<backend::SpawnError>());
  CHECK(second.failed_with<backend::SpawnError>());
  CHECK(children_of(::getpid()).empty());  // nor was another one started
  first.finish();
  second.finish();
  run_task(sandboxes.loop(), alive->exited());
}

TEST_CASE("a closed source makes nothing") {
  NativeSandboxes sandboxes;
  run_task(sandboxes.loop(), sandboxes.source().close());
  CHECK_THROWS_AS(sandboxes.spawn(), backend::SpawnError);
  CHECK(children_of(::getpid()).empty());
}

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

TEST_CASE("a sandbox that was made but cannot be held is not left alone") {
  NativeSandboxes sandboxes;
  const std::unique_ptr<backend::Sandbox> other = sandboxes.spawn();
  const pid_t zygote = zygote_of(*other);
  stop(zygote);
  Spawn spawn(sandboxes);
  {
    const NoDescriptors none;
    REQUIRE(::kill(zygote, SIGCONT) == 0);
    spawn.finish();
  }
  CHECK(spawn.failed_with<backend::SpawnError>());
  // It could not be ended alone, so all of that zygote ended.
  run_task(sandboxes.loop(), other->exited());
  CHECK(zygote_of(*sandboxes.spawn()) != zygote);
}
