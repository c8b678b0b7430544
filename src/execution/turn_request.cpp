#include "execution/turn_request.h"

#include "base/id.h"
#include "base/language.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

namespace hearth::execution {
namespace {

using blueprint::ExecutionMode;
using blueprint::Problems;

constexpr const char* python = "python";

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

void check_program(Problems& problems, const TurnRequest& request) {
  const int given = (request.script.empty() ? 0 : 1) + (request.command.empty() ? 0 : 1) +
                    (request.shell.empty() ? 0 : 1);
  if (given > 1)
    problems.push_back({"script", "excludes command and shell: a turn runs one of the three"});
  if (!request.command.empty() && !request.args.empty())
    problems.push_back({"args", "belong into command, behind the program"});
  if (!request.command.empty() && request.command.front().empty())
    problems.push_back({"command", "names no program"});
  if (!request.language.empty() && find_language(request.language) == nullptr)
    problems.push_back({"language", fmt::format("must be one of {}, is \"{}\"", language_names(),
                                                request.language)});
}

bool is_command(const TurnRequest& request) {
  return !request.command.empty() || !request.shell.empty() ||
         (!request.language.empty() && request.language != python);
}

void check_python(Problems& problems, const TurnRequest& request) {
  if (is_command(request)) return;
  if (!request.args.empty())
    problems.push_back({"args", "are for commands and for scripts in other languages than Python"});
  if (!request.directory.empty())
    problems.push_back(
        {"directory", "is for commands and for scripts in other languages than Python"});
  if (!request.input.empty() || request.input_stays_open)
    problems.push_back({"input", "is for commands and for scripts in other languages than Python"});
  if (request.terminal)
    problems.push_back(
        {"terminal", "is for commands and for scripts in other languages than Python"});
}

// What both kinds have.
template <typename Wire>
void fill_in(Wire& wire, Problems& problems, const pool::Binding& binding, TurnRequest& request) {
  const std::chrono::duration<double> allowed =
      std::chrono::seconds(binding.limits.execution_timeout_sec);
  wire.execution_id = request.execution_id.empty() ? random_id() : std::move(request.execution_id);
  wire.timeout_seconds = allowed.count();
  wire.max_output_bytes = static_cast<std::uint64_t>(
      request.max_output_bytes.value_or(binding.limits.max_output_bytes));
  if (request.time_limit) {
    wire.timeout_seconds = std::chrono::duration<double>(*request.time_limit).count();
    const bool is_without = std::is_same_v<Wire, wire::ExecRequest> && wire.timeout_seconds == 0;
    if (!is_without) check_time(problems, wire.timeout_seconds, allowed.count());
  }
  if (request.max_output_bytes) check_output(problems, *request.max_output_bytes, binding.limits);
  // Only names that are not there yet are added, so the narrower scope goes first.
  wire.env = std::move(request.env);
  wire.env.insert(binding.env.begin(), binding.env.end());
  for (const auto& [name, secret] : binding.secrets.values)
    wire.env.try_emplace(name, secret.reveal());
  wire.secrets = binding.secrets.names;
}

wire::ExecRequest command_in(TurnRequest& request) {
  wire::ExecRequest command;
  const bool is_script = request.command.empty() && request.shell.empty();
  command.argv = request.command.empty() ? std::move(request.args) : std::move(request.command);
  command.shell = std::move(request.shell);
  if (is_script) {
    command.language = std::move(request.language);
    command.script = std::move(request.script);
  }
  command.directory = std::move(request.directory);
  command.terminal = request.terminal;
  return command;
}

wire::RunRequest script_in(TurnRequest& request, const pool::Binding& binding) {
  wire::RunRequest script;
  const bool is_step = request.mode.value_or(binding.mode) == ExecutionMode::interactive;
  script.output = request.output.value_or(binding.output) == blueprint::OutputMode::truncate
                      ? wire::OutputMode::truncate
                      : wire::OutputMode::fail;
  script.sys_exit =
      binding.sys_exit == blueprint::SysExit::error ? wire::SysExit::error : wire::SysExit::python;
  script.limits = {.memory_mb = static_cast<std::uint64_t>(binding.limits.memory_mb),
                   .pids_limit = static_cast<std::uint64_t>(binding.limits.pids_limit),
                   .scratch_size_mb = static_cast<std::uint64_t>(binding.scratch_size_mb)};
  script.network = !binding.network_policy.allowed_hosts.empty();
  script.name = std::move(request.name);
  script.mode = is_step ? wire::Mode::interactive : wire::Mode::plan;
  script.script = std::move(request.script);
  return script;
}

}  // namespace

WireRequest wire_request(const pool::Binding& binding, TurnRequest request) {
  Problems problems;
  if (request.language.empty() && request.command.empty() && request.shell.empty())
    request.language = binding.language;
  check_program(problems, request);
  check_python(problems, request);
  WireRequest wire = is_command(request) ? WireRequest(command_in(request))
                                         : WireRequest(script_in(request, binding));
  std::visit([&](auto& one) { fill_in(one, problems, binding, request); }, wire);
  if (!problems.empty())
    throw blueprint::ConfigError("a turn of \"" + binding.blueprint + "\"", std::move(problems));
  return wire;
}

}  // namespace hearth::execution
