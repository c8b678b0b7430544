#include "bench/native_bench.h"

#include "bench/floor.h"
#include "native/native_sandbox.h"
#include "native/pidfd.h"
#include "native/posture.h"
#include "os/descriptor_limit.h"
#include "os/read_file.h"
#include "os/run_program.h"
#include "tests/support/native_sandbox.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace hearth::bench {
namespace {

using namespace std::chrono_literals;
using BenchClock = std::chrono::steady_clock;
using test::NativeSandboxes;

const std::string script = "x = sum(range(10))";
// What ended before is cleared away by the kernel for a while; the next is not to pay for it.
constexpr std::chrono::milliseconds settle(50);

double microseconds(const std::function<void()>& work) {
  const auto begin = BenchClock::now();
  work();
  return std::chrono::duration<double, std::micro>(BenchClock::now() - begin).count();
}

std::vector<double> repeated(int times, const std::function<void()>& work) {
  std::vector<double> samples;
  for (int i = 0; i < times; ++i) samples.push_back(microseconds(work));
  return samples;
}

void run_to_end(std::vector<std::string> words) {
  os::ProgramRequest request;
  request.program = words.front();
  request.arguments.assign(words.begin() + 1, words.end());
  if (!os::run_program(request).succeeded()) throw Error("cannot run " + words.front());
}

const std::vector<std::string> bwrap_python = {
    "bwrap",     "--unshare-all", "--ro-bind", "/usr",       "/usr",
    "--symlink", "usr/lib",       "/lib",      "--symlink",  "usr/lib64",
    "/lib64",    "--proc",        "/proc",     "--dev",      "/dev",
    "--tmpfs",   "/tmp",          "--tmpfs",   "/workspace", "--uid",
    "1000",      "--gid",         "1000",      "--clearenv", "/usr/bin/python3",
    "-c",        "pass"};

void measure_turn(Report& report) {
  Floor floor;
  NativeSandboxes sandboxes;
  std::vector<double> ours;
  std::vector<double> reference;
  for (int i = 0; i < 200; ++i) {
    const std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();
    floor.renew();
    std::this_thread::sleep_for(settle);
    reference.push_back(microseconds([&] { floor.round_trip(script); }));
    ours.push_back(microseconds([&] { sandboxes.run_in(*sandbox, script); }));
  }
  report.add({"warm turn in a fresh sandbox, p50", percentile(ours, 0.5), "us", "floor p50",
              percentile(reference, 0.5), "at most 3 times"});
  report.add({"warm turn in a fresh sandbox, p99", percentile(ours, 0.99), "us", "floor p99",
              percentile(reference, 0.99), ""});
}

void measure_spawn(Report& report) {
  NativeSandboxes sandboxes;
  sandboxes.spawn();
  std::vector<double> ours;
  std::vector<double> with_turn;
  std::vector<double> reference;
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(settle);
    reference.push_back(microseconds(run_bwrap_python));
    std::this_thread::sleep_for(settle);
    ours.push_back(microseconds([&] { sandboxes.spawn(); }));
    std::this_thread::sleep_for(settle);
    with_turn.push_back(microseconds([&] { sandboxes.run_in(*sandboxes.spawn(), script); }));
  }
  report.add({"fresh sandbox, spawn to ready, p50", percentile(ours, 0.5), "us",
              "bwrap python3 -c pass", percentile(reference, 0.5), "at most a quarter"});
  // It had no time to rehearse, so its first turn copies what it writes.
  report.add({"fresh sandbox and a turn in it at once, p50", percentile(with_turn, 0.5), "us",
              "bwrap python3 -c pass", percentile(reference, 0.5), ""});
}

void measure_preloaded(Report& report) {
  native::ZygoteContent environment = test::plain_environment();
  environment.preload = {"pandas"};
  NativeSandboxes sandboxes({}, environment);
  sandboxes.spawn();
  std::vector<double> ours;
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(settle);
    ours.push_back(microseconds([&] { sandboxes.spawn(); }));
  }
  std::vector<double> reference =
      repeated(5, [] { run_to_end({"/usr/bin/python3", "-c", "import pandas"}); });
  report.add({"fresh sandbox with pandas loaded, p50", percentile(ours, 0.5), "us",
              "python3 -c 'import pandas'", percentile(reference, 0.5), "under 10 ms"});
}

bool share_memory(pid_t one, pid_t other) {
  return ::syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0;
}

// Pages that no other process shares.
double private_kilobytes(pid_t pid) {
  std::istringstream text(
      os::read_file("/proc/" + std::to_string(pid) + "/smaps_rollup", std::size_t{1} << 16));
  double sum = 0;
  std::string word;
  for (double value = 0; text >> word;)
    if ((word == "Private_Dirty:" || word == "Private_Clean:") && text >> value) sum += value;
  return sum;
}

void measure_memory(Report& report) {
  NativeSandboxes sandboxes;
  const std::unique_ptr<backend::Sandbox> neighbour = sandboxes.spawn();
  const std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();
  std::this_thread::sleep_for(settle);  // it is idle when it has rehearsed
  const pid_t first = native::pid_of(dynamic_cast<native::NativeSandbox&>(*sandbox).pidfd());
  double kilobytes = private_kilobytes(first);
  std::vector<pid_t> counted;
  for (const pid_t child : native::children_of(first)) {
    // A worker and its holder.
    if (std::any_of(counted.begin(), counted.end(),
                    [child](pid_t other) { return share_memory(child, other); }))
      continue;
    counted.push_back(child);
    kilobytes += private_kilobytes(child);
  }
  report.add({"private memory of an idle sandbox", kilobytes / 1024, "MB", "its cgroup's count",
              static_cast<double>(test::run_task(sandboxes.loop(), sandbox->usage()).memory_bytes) /
                  (1 << 20),
              "under 2 MB"});
}

void measure_crowd(Report& report) {
  NativeSandboxes sandboxes;
  std::vector<std::unique_ptr<backend::Sandbox>> crowd;
  double with_ten = 0;
  for (const std::size_t size : {10, 100, 1000, 4000}) {
    while (crowd.size() < size) crowd.push_back(sandboxes.spawn());
    // They are idle when all have rehearsed and the kernel is done with what their making left.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::vector<double> samples = repeated(150, [&] {
      const std::unique_ptr<backend::Sandbox> one = sandboxes.spawn();
      one->kill();
      test::run_task(sandboxes.loop(), one->exited());
    });
    const double median = percentile(samples, 0.5);
    if (size == 10) with_ten = median;
    report.add({"spawn and kill beside " + std::to_string(size) + " idle sandboxes, p50", median,
                "us", "beside 10", with_ten, size == 10 ? "" : "at most 1.5 times"});
  }
}

}  // namespace

void run_bwrap_python() { run_to_end(bwrap_python); }

void measure_native(Report& report) {
  os::raise_descriptor_limit();
  measure_turn(report);
  measure_spawn(report);
  measure_preloaded(report);
  measure_memory(report);
  measure_crowd(report);
}

}  // namespace hearth::bench
