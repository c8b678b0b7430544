#include "init/process_usage.h"

#include <unistd.h>

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace hearth::init;
using namespace std::chrono_literals;

namespace {

// Fields 3 to 17 of proc_pid_stat(5): the last two are the times of waited children.
std::string stat_of(const std::string& name) {
  return "7 (" + name + ") S 1 7 7 0 -1 4194304 1 2 3 4 50 60 700 8000 20 0 1 0 99";
}

void use_cpu(std::chrono::nanoseconds time) {
  const auto begin = cpu_time_of(::getpid());
  while (cpu_time_of(::getpid()) - begin < time) {
  }
}

}  // namespace

TEST_CASE("the time of waited children is read whatever the process's name contains") {
  for (const std::string name : {"python3", "a b", "a) S 1", "", ") ", "((", "1 2 3 4 5 6 7 8 9"}) {
    CAPTURE(name);
    CHECK(waited_children_ticks_in(stat_of(name)) == 8700);
  }
}

TEST_CASE("a text without the time of waited children says 0") {
  for (const std::string text : {"", "7", "7 (python3", "7 (python3) S 1 7", "7 (python3) "}) {
    CAPTURE(text);
    CHECK(waited_children_ticks_in(text) == 0);
  }
}

TEST_CASE("peak memory is read from the line of its name") {
  CHECK(peak_memory_bytes_in("VmPeak:\t  900 kB\nVmHWM:\t  12345 kB\nVmRSS:\t 1 kB\n") ==
        12345 * 1024);
  CHECK(peak_memory_bytes_in("Name:\tpython3\nVmRSS:\t 1 kB\n") == 0);
  CHECK(peak_memory_bytes_in("VmHWM:") == 0);
  CHECK(peak_memory_bytes_in("") == 0);
}

TEST_CASE("a process that does not exist has used no CPU time") {
  CHECK(cpu_time_of(0) == 0ns);
  CHECK(cpu_time_of(-1) == 0ns);
  CHECK(cpu_time_of(::getpid()) > 0ns);
}

TEST_CASE("a step's CPU time begins where the step before it ended") {
  StepUsage usage;
  usage.begin(::getpid());
  const double before = usage.cpu_seconds();
  use_cpu(2ms);
  const StepUsage::Measured first = usage.end_step(::getpid(), 1ms);
  CHECK(first.cpu_seconds - before >= 0.002);
  CHECK(first.cpu_seconds == usage.cpu_seconds());  // nothing is added for children
  CHECK(first.peak_memory_bytes > 0);
  CHECK(usage.end_step(::getpid(), 1ms).cpu_seconds >= first.cpu_seconds);
}
