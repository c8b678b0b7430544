#include "os/run_program.h"

#include "base/error.h"
#include "os/unique_fd.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>

using namespace std::chrono_literals;
using namespace hearth;

TEST_CASE("a program gets its input and gives back its output, errors and exit code") {
  const os::ProgramResult result = os::run_program(
      {.program = "sh", .arguments = {"-c", "cat; echo oops >&2; exit 3"}, .input = "hello"});
  CHECK(result.output == "hello");
  CHECK(result.errors == "oops\n");
  CHECK(result.exit_code == 3);
  CHECK_FALSE(result.succeeded());
}

TEST_CASE("megabytes pass both ways at once without a deadlock") {
  const std::string big(5'000'000, 'x');
  const os::ProgramResult result =
      os::run_program({.program = "cat", .input = big, .max_output_bytes = 6'000'000});
  CHECK(result.succeeded());
  CHECK(result.output == big);
}

TEST_CASE("output beyond the limit is dropped and said to be") {
  const os::ProgramResult result = os::run_program(
      {.program = "cat", .input = std::string(100'000, 'x'), .max_output_bytes = 10});
  CHECK(result.output == "xxxxxxxxxx");
  CHECK(result.truncated);
  CHECK(result.exit_code == 0);
  CHECK_FALSE(result.succeeded());
}

TEST_CASE("a program that never reads its input does not raise SIGPIPE here") {
  const os::ProgramResult result =
      os::run_program({.program = "true", .input = std::string(5'000'000, 'x')});
  CHECK(result.succeeded());
}

TEST_CASE("a program that takes too long is killed together with its helpers") {
  const auto before = std::chrono::steady_clock::now();
  const os::ProgramResult result = os::run_program(
      {.program = "sh", .arguments = {"-c", "echo begun; sleep 60 & sleep 60"}, .timeout = 300ms});
  CHECK(result.timed_out);
  CHECK(result.ended_by_signal == SIGKILL);
  CHECK(result.output == "begun\n");
  CHECK(std::chrono::steady_clock::now() - before < 30s);
}

TEST_CASE("a helper that keeps the output open does not keep the caller") {
  const auto before = std::chrono::steady_clock::now();
  const os::ProgramResult result =
      os::run_program({.program = "sh", .arguments = {"-c", "sleep 5 & echo done"}});
  CHECK(result.succeeded());
  CHECK(result.output == "done\n");
  CHECK(std::chrono::steady_clock::now() - before < 4s);
}

TEST_CASE("a program that does not exist is an error with its code") {
  try {
    os::run_program({.program = "hearth-no-such-program"});
    FAIL("started");
  } catch (const OsError& error) {
    CHECK(error.code == ENOENT);
    CHECK(std::string(error.what()).find("start hearth-no-such-program") == 0);
  }
}

TEST_CASE("a program that a signal ends says which") {
  const os::ProgramResult result =
      os::run_program({.program = "sh", .arguments = {"-c", "kill -SEGV $$"}});
  CHECK(result.ended_by_signal == SIGSEGV);
  CHECK_FALSE(result.succeeded());
}

TEST_CASE("nothing but the three streams is open in a program") {
  const int careless = ::fcntl(STDERR_FILENO, F_DUPFD, 50);  // without close-on-exec
  const os::ProgramResult result =
      os::run_program({.program = "sh", .arguments = {"-c", "echo /proc/$$/fd/*"}});
  ::close(careless);
  CHECK(result.output.find("/fd/2") != std::string::npos);
  CHECK(result.output.find("/fd/" + std::to_string(careless)) == std::string::npos);
  // The shell itself opens one to look.
  CHECK(std::count(result.output.begin(), result.output.end(), ' ') <= 3);
}

TEST_CASE("a program finds the descriptors that were passed to it, and no others") {
  const os::UniqueFd low(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const os::UniqueFd high(::fcntl(low.get(), F_DUPFD, 20));
  const std::string list = "for n in 3 4 5 6 20 64; do [ ! -e /proc/$$/fd/$n ] || echo $n; done";
  for (const bool ends_with_caller : {false, true}) {
    const os::ProgramResult result = os::run_program({.program = "/bin/sh",
                                                      .arguments = {"-c", list},
                                                      .passed_fds = {high.get(), low.get()},
                                                      .ends_with_caller = ends_with_caller});
    CHECK(result.output == "4\n5\n");
  }
}

TEST_CASE("a program can be given an environment and a directory of its own") {
  const os::ProgramResult result =
      os::run_program({.program = "sh",
                       .arguments = {"-c", "echo $GIVEN; pwd; env | grep -c ^PATH="},
                       .environment = std::vector<std::string>{"GIVEN=this"},
                       .directory = "/"});
  CHECK(result.output == "this\n/\n0\n");
}

TEST_CASE("errors can stand among the output, in their order") {
  const os::ProgramResult result =
      os::run_program({.program = "sh",
                       .arguments = {"-c", "echo 1; echo 2 >&2; echo 3"},
                       .errors_to_output = true});
  CHECK(result.output == "1\n2\n3\n");
  CHECK(result.errors.empty());
}

TEST_CASE("output is seen while the program runs, and all of it") {
  std::string seen;
  std::stop_source stop;
  const os::ProgramResult result = os::run_program({.program = "sh",
                                                    .arguments = {"-c", "echo begun; sleep 60"},
                                                    .max_output_bytes = 2,
                                                    .on_output =
                                                        [&](std::string_view piece) {
                                                          seen += piece;
                                                          stop.request_stop();
                                                        },
                                                    .stop = stop.get_token()});
  CHECK(seen == "begun\n");
  CHECK(result.output == "be");
  CHECK(result.stopped);
  CHECK_FALSE(result.timed_out);
}

TEST_CASE("a program whose caller wanted it stopped already is stopped at once") {
  std::stop_source stop;
  stop.request_stop();
  const os::ProgramResult result =
      os::run_program({.program = "sleep", .arguments = {"60"}, .stop = stop.get_token()});
  CHECK(result.stopped);
  CHECK(result.ended_by_signal == SIGKILL);
}

TEST_CASE("a program that ends with its caller is otherwise run like any other") {
  const os::ProgramResult result =
      os::run_program({.program = "sh",
                       .arguments = {"-c", "cat; echo /proc/$$/fd/*; echo \"$1\" >&2; exit 3",
                                     "name", "an 'odd' $argument"},
                       .ends_with_caller = true});
  CHECK(result.exit_code == 3);
  CHECK(result.errors == "an 'odd' $argument\n");
  CHECK(std::count(result.output.begin(), result.output.end(), ' ') <= 3);
}

namespace {

// A FIFO that a program and its helpers hold open for as long as one of them lives.
class LifeLine {
 public:
  LifeLine() : path_((directory_.path() / "held").string()) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    reader_.reset(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  std::string script(const std::string& then) const {
    return "exec 9>" + path_ + "; echo held >&9; sleep 60 & " + then;
  }
  void wait_until_held() const {
    pollfd event{reader_.get(), POLLIN, 0};
    REQUIRE(::poll(&event, 1, 30'000) == 1);
  }
  bool is_let_go() const {
    std::array<char, 16> said{};
    REQUIRE(::read(reader_.get(), said.data(), said.size()) > 0);
    pollfd event{reader_.get(), POLLIN, 0};
    return ::poll(&event, 1, 30'000) == 1 && ::read(reader_.get(), said.data(), 1) == 0;
  }

 private:
  test::TemporaryDirectory directory_;
  std::string path_;
  os::UniqueFd reader_;
};

}  // namespace

TEST_CASE("a program that ends with its caller leaves no helper behind") {
  const LifeLine line;
  const os::ProgramResult result = os::run_program(
      {.program = "sh", .arguments = {"-c", line.script("true")}, .ends_with_caller = true});
  CHECK(result.succeeded());
  CHECK(line.is_let_go());
}

TEST_CASE("a program and its helpers end when their caller is killed") {
  const LifeLine line;
  const pid_t caller = ::fork();
  if (caller == 0) {
    os::run_program(
        {.program = "sh", .arguments = {"-c", line.script("sleep 60")}, .ends_with_caller = true});
    ::_exit(0);
  }
  line.wait_until_held();
  ::kill(caller, SIGKILL);
  ::waitpid(caller, nullptr, 0);
  CHECK(line.is_let_go());
}
