#include "execution/turn_request.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::execution;
using namespace std::chrono_literals;

namespace {

blueprint::SandboxConfig config() {
  blueprint::SandboxConfig config;
  config.name = "default";
  return config;
}

pool::Binding binding(pool::CheckoutOptions options = {}) {
  return pool::bind(config(), {}, std::move(options));
}

std::vector<std::string> problems_of(const pool::Binding& lease, TurnRequest request) {
  std::vector<std::string> problems;
  try {
    wire_request(lease, std::move(request));
  } catch (const blueprint::ConfigError& error) {
    for (const blueprint::Problem& problem : error.problems) problems.push_back(to_string(problem));
  }
  return problems;
}

wire::RunRequest script_of(const pool::Binding& lease, TurnRequest request) {
  return std::get<wire::RunRequest>(wire_request(lease, std::move(request)));
}

wire::ExecRequest command_of(TurnRequest request) {
  return std::get<wire::ExecRequest>(wire_request(binding(), std::move(request)));
}

}  // namespace

TEST_CASE(
    "a turn is a command if it names a program, a shell line or a language with an interpreter") {
  const wire::ExecRequest program = command_of({.command = {"ls", "-l"}, .directory = "data"});
  CHECK(program.argv == std::vector<std::string>{"ls", "-l"});
  CHECK(program.directory == "data");
  CHECK(program.timeout_seconds == 30);
  const wire::ExecRequest line = command_of({.shell = "ls | wc", .args = {"a"}});
  CHECK(line.shell == "ls | wc");
  CHECK(line.argv == std::vector<std::string>{"a"});
  const wire::ExecRequest script = command_of({.script = "ls", .language = "bash", .args = {"a"}});
  CHECK(script.language == "bash");
  CHECK(script.script == "ls");
  CHECK(script.argv == std::vector<std::string>{"a"});
  CHECK(script_of(binding(), {.script = "1", .language = "python"}).script == "1");
}

TEST_CASE("a script that names no language is in that of the blueprint") {
  blueprint::SandboxConfig in_bash = config();
  in_bash.language = "bash";
  const pool::Binding lease = pool::bind(in_bash, {}, {});
  const auto script =
      std::get<wire::ExecRequest>(wire_request(lease, {.script = "ls", .args = {"a"}}));
  CHECK(script.language == "bash");
  CHECK(script.script == "ls");
  CHECK(script_of(lease, {.script = "1", .language = "python"}).script == "1");
  const auto program = std::get<wire::ExecRequest>(wire_request(lease, {.command = {"ls"}}));
  CHECK(program.language.empty());
}

TEST_CASE("a turn that runs two things, or nothing that is known, is refused with the reason") {
  CHECK(problems_of(binding(), {.script = "1", .command = {"ls"}}).size() == 1);
  CHECK(problems_of(binding(), {.command = {""}}).size() == 1);
  CHECK(problems_of(binding(), {.command = {"ls"}, .args = {"-l"}}).size() == 1);
  CHECK(problems_of(binding(), {.script = "1", .language = "cobol"}) ==
        std::vector<std::string>{"language must be one of python, bash, javascript, is \"cobol\""});
  CHECK(problems_of(binding(), {.script = "1", .args = {"a"}, .directory = "b"}).size() == 2);
}

TEST_CASE("a turn that asks for nothing has what the blueprint says") {
  const wire::RunRequest request = script_of(binding(), {.script = "print(1)"});
  CHECK(request.script == "print(1)");
  CHECK_FALSE(request.execution_id.empty());
  CHECK(request.timeout_seconds == 30);
  CHECK(request.max_output_bytes == 1'048'576);
  CHECK(request.mode == wire::Mode::plan);
}

TEST_CASE("a turn carries what its errors say about the sandbox") {
  blueprint::SandboxConfig strict = config();
  strict.sys_exit = blueprint::SysExit::error;
  strict.output = blueprint::OutputMode::truncate;
  strict.scratch_size_mb = 32;
  strict.network_policy.allowed_hosts = {"api.example"};
  pool::CheckoutOptions options;
  options.memory_mb = 128;
  options.pids_limit = 8;
  const wire::RunRequest request = script_of(pool::bind(strict, {}, options), {});
  CHECK(request.sys_exit == wire::SysExit::error);
  CHECK(request.output == wire::OutputMode::truncate);
  CHECK(request.limits ==
        wire::KnownLimits{.memory_mb = 128, .pids_limit = 8, .scratch_size_mb = 32});
  CHECK(request.network);
  CHECK(request.name.empty());

  const wire::RunRequest usual =
      script_of(binding(), {.output = blueprint::OutputMode::truncate, .name = "report.py"});
  CHECK(usual.sys_exit == wire::SysExit::python);
  CHECK(usual.output == wire::OutputMode::truncate);
  CHECK(script_of(binding(), {}).output == wire::OutputMode::fail);
  CHECK_FALSE(usual.network);
  CHECK(usual.name == "report.py");
}

TEST_CASE("a turn may choose its id, its mode and narrower limits") {
  pool::CheckoutOptions options;
  options.execution_timeout_sec = 2;
  options.max_output_bytes = 3000;
  const pool::Binding lease = binding(options);
  CHECK(script_of(lease, {}).timeout_seconds == 2);
  CHECK(script_of(lease, {}).max_output_bytes == 3000);

  const wire::RunRequest request = script_of(lease, {.script = "",
                                                     .execution_id = "ex_1",
                                                     .mode = blueprint::ExecutionMode::interactive,
                                                     .time_limit = 300ms,
                                                     .max_output_bytes = 2000});
  CHECK(request.execution_id == "ex_1");
  CHECK(request.mode == wire::Mode::interactive);
  CHECK(request.timeout_seconds == 0.3);
  CHECK(request.max_output_bytes == 2000);
}

TEST_CASE("limits that are wider than the lease's are refused with key and value, all at once") {
  pool::CheckoutOptions options;
  options.execution_timeout_sec = 2;
  CHECK(problems_of(binding(options),
                    {.script = "", .time_limit = 2001ms, .max_output_bytes = 1'048'577}) ==
        std::vector<std::string>{
            "execution_timeout_sec must be more than 0 and at most 2, as for the lease, is 2.001",
            "max_output_bytes must be at most 1048576, as for the lease, is 1048577"});
  CHECK(problems_of(binding(), {.script = "", .time_limit = 30s}).empty());
}

TEST_CASE("limits that can never work are refused") {
  CHECK(problems_of(binding(), {.script = "", .time_limit = 0ms}).size() == 1);
  CHECK(problems_of(binding(), {.script = "", .max_output_bytes = 3}).size() == 1);
}

TEST_CASE("a command may have a terminal, an input and no limit of time, but Python has none") {
  CHECK(command_of({.command = {"ls"}, .terminal = wire::TerminalSize{100, 30}}).terminal ==
        wire::TerminalSize{100, 30});
  CHECK(command_of({.command = {"ls"}, .time_limit = 0ms}).timeout_seconds == 0);
  CHECK(
      problems_of(binding(), {.command = {"ls"}, .input = "x", .input_stays_open = true}).empty());
  CHECK(problems_of(binding(), {.script = "", .input = "x"}).size() == 1);
  CHECK(problems_of(binding(), {.script = "", .terminal = wire::TerminalSize{}}).size() == 1);
}

TEST_CASE("an environment variable that the caller names beats a stored secret") {
  const pool::Secrets secrets{
      {"KEY", "OTHER", "THIRD", "MISSING"},
      {{"KEY", Secret("stored")}, {"OTHER", Secret("stored")}, {"THIRD", Secret("stored")}}};
  pool::CheckoutOptions options;
  options.env = {{"OTHER", "lease"}, {"KEY", "lease"}, {"PLAIN", "lease"}};
  const pool::Binding lease = pool::bind(config(), secrets, options);
  const wire::RunRequest request = script_of(lease, {.script = "", .env = {{"KEY", "turn"}}});
  CHECK(request.env ==
        std::map<std::string, std::string>{
            {"KEY", "turn"}, {"OTHER", "lease"}, {"PLAIN", "lease"}, {"THIRD", "stored"}});
  // Init refuses the turn and names all that are missing.
  CHECK(request.secrets == secrets.names);
}
