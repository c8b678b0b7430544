#include "execution/turn_request.h"

#include "base/id.h"

#include <fmt/format.h>

#include <utility>

namespace hearth::execution {
namespace {

using blueprint::ExecutionMode;
using blueprint::Problems;

void check_time(Problems& problems, double wanted_sec, double allowed_sec) {
  if (wanted_sec > 0 && wanted_sec <= allowed_sec) return;
  problems.push_back(
      {"execution_timeout_sec", fmt::format("must be more than 0 and at most {}, as for the lease, "
                                            "is {}",
                                            allowed_sec, wanted_sec)});
}

void check_output(Problems& problems, std::int64_t wanted, blueprint::ResourceLimits limits) {
  const std::int64_t allowed = std::exchange(limits.max_output_bytes, wanted);
  if (wanted > allowed)
    problems.push_back(
        {"max_output_bytes",
         fmt::format("must be at most {}, as for the lease, is {}", allowed, wanted)});
  for (blueprint::Problem& problem : problems_of(limits)) problems.push_back(std::move(problem));
}

}  // namespace

wire::RunRequest wire_request(const pool::Binding& binding, TurnRequest request) {
  const std::chrono::duration<double> allowed =
      std::chrono::seconds(binding.limits.execution_timeout_sec);
  wire::RunRequest wire;
  wire.execution_id = request.execution_id.empty() ? random_id() : std::move(request.execution_id);
  wire.script = std::move(request.script);
  wire.timeout_seconds = allowed.count();
  wire.max_output_bytes = static_cast<std::uint64_t>(
      request.max_output_bytes.value_or(binding.limits.max_output_bytes));
  wire.mode = request.mode.value_or(binding.mode) == ExecutionMode::interactive
                  ? wire::Mode::interactive
                  : wire::Mode::plan;
  wire.output = request.output.value_or(binding.output) == blueprint::OutputMode::truncate
                    ? wire::OutputMode::truncate
                    : wire::OutputMode::fail;
  wire.sys_exit =
      binding.sys_exit == blueprint::SysExit::error ? wire::SysExit::error : wire::SysExit::python;
  wire.limits = {.memory_mb = static_cast<std::uint64_t>(binding.limits.memory_mb),
                 .pids_limit = static_cast<std::uint64_t>(binding.limits.pids_limit),
                 .scratch_size_mb = static_cast<std::uint64_t>(binding.scratch_size_mb)};
  wire.network = !binding.network_policy.allowed_hosts.empty();
  wire.name = std::move(request.name);

  Problems problems;
  if (request.time_limit) {
    wire.timeout_seconds = std::chrono::duration<double>(*request.time_limit).count();
    check_time(problems, wire.timeout_seconds, allowed.count());
  }
  if (request.max_output_bytes) check_output(problems, *request.max_output_bytes, binding.limits);
  if (!problems.empty())
    throw blueprint::ConfigError("a turn of \"" + binding.blueprint + "\"", std::move(problems));

  // Only names that are not there yet are added, so the narrower scope goes first.
  wire.env = std::move(request.env);
  wire.env.insert(binding.env.begin(), binding.env.end());
  for (const auto& [name, secret] : binding.secrets.values)
    wire.env.try_emplace(name, secret.reveal());
  wire.secrets = binding.secrets.names;
  return wire;
}

}  // namespace hearth::execution
