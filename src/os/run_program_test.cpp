#include "os/run_program.h"

#include "base/error.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

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
