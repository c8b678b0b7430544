// hearth-bench: what a turn costs beside the floor, and what init carries. Prints one table, writes
// JSON.
#include "bench/command_bench.h"
#include "bench/docker_bench.h"
#include "bench/floor.h"
#include "bench/native_bench.h"
#include "bench/pool_bench.h"
#include "bench/report.h"
#include "bench/session_bench.h"
#include "bench/transfer_bench.h"
#include "tests/support/run_task.h"
#include "tests/support/sandbox_process.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace hearth;
using namespace hearth::bench;
using hearth::test::Sandbox;
using namespace std::chrono_literals;

namespace {

using BenchClock = std::chrono::steady_clock;
constexpr int turns = 300;
constexpr int steps = 3000;
const std::string script = "x = sum(range(10))";

double microseconds(const std::function<void()>& work) {
  const auto begin = BenchClock::now();
  work();
  return std::chrono::duration<double, std::micro>(BenchClock::now() - begin).count();
}

void measure_plan(Report& report) {
  Floor floor;
  Sandbox sandbox;
  std::vector<double> ours;
  std::vector<double> reference;
  for (int i = 0; i < turns; ++i) {
    floor.renew();
    // Init prepares the next worker by itself a while after a turn; this is about one that finds it
    // prepared.
    std::this_thread::sleep_for(80ms);
    reference.push_back(microseconds([&] { floor.round_trip(script); }));
    ours.push_back(microseconds([&] { sandbox.run(script); }));
  }
  report.add({"PLAN turn on a prepared fork, p50", percentile(ours, 0.5), "us", "floor p50",
              percentile(reference, 0.5), "at most 2 times"});
  report.add({"PLAN turn on a prepared fork, p99", percentile(ours, 0.99), "us", "floor p99",
              percentile(reference, 0.99), ""});
}

void measure_interactive(Report& report) {
  Floor floor;
  Sandbox sandbox;
  std::vector<double> ours;
  std::vector<double> reference;
  for (int i = 0; i < steps; ++i) {
    reference.push_back(microseconds([&] { floor.round_trip(script); }));
    ours.push_back(microseconds([&] { sandbox.step(script); }));
  }
  report.add({"INTERACTIVE step, p50", percentile(ours, 0.5), "us", "floor p50, same process",
              percentile(reference, 0.5), "at most 2 times"});
  report.add({"INTERACTIVE step, p99", percentile(ours, 0.99), "us", "floor p99, same process",
              percentile(reference, 0.99), ""});
}

// Reads events without keeping them, as a server that streams them on would.
struct Tally {
  std::size_t events = 0;
  std::size_t text_bytes = 0;
};

Task<> drain(SandboxChannel& channel, wire::RunRequest request, Tally& tally) {
  co_await channel.send(std::move(request));
  while (true) {
    const SandboxChannel::Received received = co_await channel.receive();
    if (std::holds_alternative<wire::ScriptDone>(received.event.body)) co_return;
    ++tally.events;
    if (const auto* text = std::get_if<wire::Stdout>(&received.event.body))
      tally.text_bytes += text->text.size();
  }
}

double drain_seconds(Sandbox& sandbox, const std::string& source, Tally& tally) {
  wire::RunRequest request;
  request.execution_id = "bench";
  request.script = source;
  request.timeout_seconds = 60;
  request.max_output_bytes = std::uint64_t{1} << 40;
  return microseconds([&] {
           test::run_task(sandbox.loop(),
                          drain(sandbox.process().channel(), std::move(request), tally));
         }) /
         1e6;
}

void measure_events(Report& report) {
  Sandbox sandbox;
  Tally tally;
  const double seconds =
      drain_seconds(sandbox, "for _ in range(200_000): emit_log('working')", tally);
  report.add({"events of a script's emit_log, through init",
              static_cast<double>(tally.events) / seconds, "/s", "", 0, "at least 200,000 /s"});
}

void measure_stdout(Report& report) {
  Sandbox sandbox;
  const double before = static_cast<double>(sandbox.process().init_peak_memory_bytes());
  Tally tally;
  const double seconds = drain_seconds(
      sandbox,
      "import os\nblock = b'0123456789abcde\\n' * 4096\nfor _ in range(1024): os.write(1, block)\n",
      tally);
  const double after = static_cast<double>(sandbox.process().init_peak_memory_bytes());
  report.add({"64 MB of stdout", static_cast<double>(tally.text_bytes) / 1e6 / seconds, "MB/s", "",
              0, "at least 300 MB/s"});
  report.add({"init's peak memory after it", after / 1e6, "MB", "before", before / 1e6, "flat"});
}

}  // namespace

// hearth-bench [JSON [GROUP]]: of all groups, or of one: turns, native, pool, sessions, transfers,
// commands, docker.
int main(int argc, char** argv) {
  Report report;
  const std::string wanted = argc > 2 ? argv[2] : "";
  const auto measures = [&](const char* group) { return wanted.empty() || wanted == group; };
  if (measures("turns")) {
    measure_plan(report);
    measure_interactive(report);
    measure_events(report);
    measure_stdout(report);
  }
  if (measures("native")) measure_native(report);
  if (measures("pool")) measure_pool(report);
  if (measures("sessions")) measure_sessions(report);
  if (measures("transfers")) measure_transfers(report);
  if (measures("commands")) measure_commands(report);
  if (measures("docker")) measure_docker(report);
  std::fputs(report.table().c_str(), stdout);
  if (argc > 1) std::ofstream(argv[1]) << report.json();
}
