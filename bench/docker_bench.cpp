#include "bench/docker_bench.h"

#include "os/run_program.h"
#include "tests/support/any_backend.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace hearth::bench {
namespace {

using namespace std::chrono_literals;
using BenchClock = std::chrono::steady_clock;

const std::string script = "x = sum(range(10))";

double microseconds(const std::function<void()>& work) {
  const auto begin = BenchClock::now();
  work();
  return std::chrono::duration<double, std::micro>(BenchClock::now() - begin).count();
}

void docker(std::vector<std::string> words) {
  words.insert(words.begin(), {"-H", test::engine_address().text()});
  const os::ProgramResult result =
      os::run_program({.program = "docker", .arguments = std::move(words)});
  if (!result.succeeded()) throw Error("docker: " + result.errors);
}

// With the worker for it standing by, as in a pool.
double warm_turn(test::AnyBackend& backend, backend::Sandbox& sandbox) {
  const auto settled = BenchClock::now() + 20ms;
  while (BenchClock::now() < settled) backend.loop().poll();
  return microseconds([&] { backend.run_in(sandbox, script); });
}

void measure_turns(Report& report, double docker_run) {
  test::DockerBackend containers;
  test::NativeBackend native;
  const auto container = containers.spawn();
  const auto sandbox = native.spawn();
  std::vector<double> ours;
  std::vector<double> reference;
  for (int i = 0; i < 200; ++i) {
    reference.push_back(warm_turn(native, *sandbox));
    ours.push_back(warm_turn(containers, *container));
  }
  const double median = percentile(ours, 0.5);
  report.add({"Docker: warm turn, p50", median, "us", "docker run --rm python3 -c pass", docker_run,
              "at most a hundredth"});
  report.add({"Docker: warm turn, p50", median, "us", "native warm turn",
              percentile(reference, 0.5), "at most 3 ms more"});
  report.add({"Docker: warm turn, p99", percentile(ours, 0.99), "us", "native warm turn",
              percentile(reference, 0.99), ""});
}

}  // namespace

void measure_docker(Report& report) {
  if (std::getenv("HEARTH_TEST_DOCKER") == nullptr) {
    std::fputs("no rows with Docker: scripts/docker-engine has no engine for them\n", stderr);
    return;
  }
  test::DockerBackend containers;
  containers.spawn();
  std::vector<double> runs;
  std::vector<double> spawns;
  std::vector<double> execs;
  docker({"run", "-d", "--rm", "--name", "hearth-bench", "--network", "none", "python:3.11-slim",
          "sleep", "600"});
  for (int i = 0; i < 15; ++i) {
    runs.push_back(microseconds([] {
      docker({"run", "--rm", "--network", "none", "python:3.11-slim", "python3", "-c", "pass"});
    }));
    execs.push_back(
        microseconds([] { docker({"exec", "hearth-bench", "python3", "-c", "pass"}); }));
    std::unique_ptr<backend::Sandbox> sandbox;
    spawns.push_back(microseconds([&] { sandbox = containers.spawn(); }));
    sandbox->kill();
    test::run_task(containers.loop(), sandbox->exited());
    std::this_thread::sleep_for(100ms);
  }
  docker({"kill", "hearth-bench"});
  const double run = percentile(runs, 0.5);
  report.add({"docker run --rm python3 -c pass, p50", run, "us", "", 0, ""});
  report.add({"docker exec python3 -c pass, p50", percentile(execs, 0.5), "us",
              "docker run --rm python3 -c pass", run, ""});
  report.add({"Docker: fresh container, spawn to ready, p50", percentile(spawns, 0.5), "us",
              "docker run --rm python3 -c pass", run, ""});
  measure_turns(report, run);
}

}  // namespace hearth::bench
