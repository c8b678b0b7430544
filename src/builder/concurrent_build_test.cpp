// Builds that overlap, end early or are killed.
#include "builder/builder_fixture.h"
#include "builder/native_builder.h"
#include "os/unique_fd.h"

#include <doctest/doctest.h>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <semaphore>
#include <thread>

using namespace hearth;
using namespace hearth::builder;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// Opens the FIFO, writes a byte, keeps it open and goes no further while it exists. A user that may
// not write to a directory may still write to a FIFO in it.
constexpr const char* slow_build = R"(
import os, time
os.write(os.open("@/builds", os.O_WRONLY), b"x")
if os.path.exists("@/slow"):
    slow = os.open("@/slow", os.O_WRONLY)
    os.write(slow, b"x")
    while os.path.exists("@/slow"):
        time.sleep(0.01)
)";

// With a package whose build does not end while `slow` exists.
struct SlowFixture : Fixture {
  SlowFixture() {
    options.build.pip.allow_source_builds = true;
    // Of find_links a build sees archives only; a local index is shown as it is, though not asked.
    fs::create_directory(gate());
    options.build.pip.index_url = "file://" + gate().string();
    std::string code = slow_build;
    for (std::size_t at = code.find('@'); at != std::string::npos; at = code.find('@'))
      code.replace(at, 1, gate());
    test::write_source_archive(wheels(), "lazy", code);
    add_sandbox({"lazy"});
    for (const fs::path& fifo : {slow(), gate() / "builds"}) {
      REQUIRE(::mkfifo(fifo.c_str(), 0666) == 0);
      REQUIRE(::chmod(fifo.c_str(), 0666) == 0);
    }
    begun.reset(::open(slow().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    built.reset(::open((gate() / "builds").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  }
  fs::path gate() const { return root.path() / "gate"; }
  fs::path slow() const { return gate() / "slow"; }

  void wait_until_begun() const {
    pollfd event{begun.get(), POLLIN, 0};
    REQUIRE(::poll(&event, 1, 60'000) == 1);
    char byte = 0;
    REQUIRE(::read(begun.get(), &byte, 1) == 1);
  }
  // The builder has closed its end: it is dead.
  bool has_ended() const {
    pollfd event{begun.get(), POLLIN, 0};
    char byte = 0;
    return ::poll(&event, 1, 60'000) == 1 && ::read(begun.get(), &byte, 1) == 0;
  }
  // Since this was asked last.
  ssize_t builds() const {
    std::array<char, 100> bytes{};
    return ::read(built.get(), bytes.data(), bytes.size());
  }

  os::UniqueFd begun;
  os::UniqueFd built;
};

// A process that runs `body` and says with its exit code whether it came to its end.
template <typename Body>
pid_t fork_process(Body body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  try {
    body();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

int exit_code_of(pid_t pid) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Task<> ensure_into(NativeBuilder& builder, std::vector<Environment>& results,
                   std::string name = "box") {
  results.push_back(co_await builder.ensure_environment(std::move(name)));
}

// Two callers of one builder, whose loop turns in a thread of its own.
class TwoCallers {
 public:
  explicit TwoCallers(SlowFixture& fixture)
      : builder_(loop_.get_executor(), fixture.registry, fixture.options) {
    for (asio::cancellation_signal& signal : signals_) {
      asio::co_spawn(loop_, ensure_into(builder_, results_),
                     asio::bind_cancellation_slot(signal.slot(), [this](std::exception_ptr error) {
                       if (error) cancelled_.release();
                     }));
    }
    thread_ = std::thread([this] { loop_.run(); });
    fixture.wait_until_begun();
  }
  void cancel(std::size_t caller) {
    asio::post(loop_, [&] { signals_.at(caller).emit(asio::cancellation_type::terminal); });
    cancelled_.acquire();
  }
  // Asks for another one beside.
  void ensure(const std::string& name) {
    asio::co_spawn(loop_, ensure_into(builder_, others_, name), asio::use_future).get();
  }
  std::vector<Environment> results() {
    thread_.join();
    return results_;
  }

 private:
  asio::io_context loop_;
  NativeBuilder builder_;
  std::array<asio::cancellation_signal, 2> signals_;
  std::counting_semaphore<2> cancelled_{0};
  std::vector<Environment> results_;
  std::vector<Environment> others_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("ten callers at once cause one build and get the same environment") {
  SlowFixture fixture;
  fs::remove(fixture.slow());
  asio::io_context loop;
  NativeBuilder builder(loop.get_executor(), fixture.registry, fixture.options);
  std::vector<Environment> results;
  for (int caller = 0; caller < 10; ++caller) {
    asio::co_spawn(loop, ensure_into(builder, results), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
  }
  loop.run();
  REQUIRE(results.size() == 10);
  CHECK(std::count(results.begin(), results.end(), results[0]) == 10);
  CHECK(fixture.builds() == 1);
}

TEST_CASE("two processes cause one build and use the same environment") {
  SlowFixture fixture;
  std::array<pid_t, 2> processes{};
  for (pid_t& process : processes) process = fork_process([&] { fixture.ensure(); });
  fixture.wait_until_begun();
  fs::remove(fixture.slow());
  for (const pid_t process : processes) CHECK(exit_code_of(process) == 0);
  CHECK(fixture.builds() == 1);
  CHECK(fixture.left_over().empty());
}

TEST_CASE("when the process that builds is killed, the one that waits for it builds") {
  SlowFixture fixture;
  const pid_t first = fork_process([&] { fixture.ensure(); });
  fixture.wait_until_begun();
  const pid_t second = fork_process([&] { fixture.ensure(); });
  ::kill(first, SIGKILL);
  CHECK(exit_code_of(first) == 128 + SIGKILL);
  fs::remove(fixture.slow());
  CHECK(exit_code_of(second) == 0);
  CHECK(fixture.builds() == 2);
}

TEST_CASE("a build that was killed with its process leaves nothing the next could stumble over") {
  SlowFixture fixture;
  const pid_t process = fork_process([&] { fixture.ensure(); });
  fixture.wait_until_begun();
  CHECK(fixture.left_over().size() == 1);
  ::kill(process, SIGKILL);
  CHECK(exit_code_of(process) == 128 + SIGKILL);
  CHECK(fixture.has_ended());
  CHECK(fixture.left_over().size() == 1);
  CHECK_FALSE(fs::exists(fixture.place()));

  fs::remove(fixture.slow());
  CHECK(fs::exists(fixture.ensure().packages / "lazy.py"));
  CHECK(fixture.left_over().empty());
}

TEST_CASE("a build that takes too long is killed, and the error has its log") {
  SlowFixture fixture;
  fixture.options.build.build_timeout = 3000ms;
  const BuildError error = fixture.failure();
  CHECK(std::string(error.what()) ==
        "build the environment of blueprint \"box\": it took longer than 3 seconds "
        "(build_timeout_sec in [builder] of hearth.toml)");
  CHECK(fixture.left_over().empty());
}

TEST_CASE("a build whose last caller is cancelled is killed, with what it started") {
  SlowFixture fixture;
  TwoCallers callers(fixture);
  callers.cancel(0);
  callers.cancel(1);
  CHECK(fixture.has_ended());
  CHECK(callers.results().empty());
}

TEST_CASE("a caller that is cancelled leaves the build to the others") {
  SlowFixture fixture;
  TwoCallers callers(fixture);
  callers.cancel(0);
  fs::remove(fixture.slow());
  CHECK(callers.results().size() == 1);
  CHECK(fixture.builds() == 1);
}

TEST_CASE("an environment that is there does not wait behind the builds of others") {
  SlowFixture fixture;
  fixture.add_sandbox({}, "other");
  fixture.ensure("other");
  fixture.options.parallel_builds = 1;
  TwoCallers callers(fixture);
  callers.ensure("other");
  fs::remove(fixture.slow());
  CHECK(callers.results().size() == 2);
}
