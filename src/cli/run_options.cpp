#include "cli/run_options.h"

#include "cli/shared_options.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <filesystem>

namespace hearth::cli {

void add_run_options(CLI::App& command, RawRunOptions& raw) {
  RunOptions& options = raw.options;
  command.add_option("FILE", options.files, "Python scripts; - is standard input")->type_name("");
  command.add_option("-c,--config", raw.config, "The configuration")->type_name("FILE");
  command.add_option("-b,--blueprint", options.blueprint, "Which blueprint of the configuration")
      ->type_name("NAME");
  command.add_option("-t,--timeout", raw.timeout, "Time limit of each script")
      ->type_name("SECONDS");
  command.add_option("-m,--memory", raw.memory, "Memory limit, like 512M or 2G")->type_name("SIZE");
  const auto repeated = [&](const char* names, std::vector<std::string>& into, const char* what,
                            const char* type) {
    command.add_option(names, into, what)->type_name(type)->allow_extra_args(false);
  };
  repeated("-e,--env", raw.env, "A variable for the script; without a value, ours", "NAME[=VALUE]");
  repeated("--mount", raw.mounts,
           "A file or directory to show inside, read-only unless :rw; its permissions hold, and a "
           "sandbox is an ordinary user",
           "HOST:PATH[:rw]");
  repeated("--tool", options.tools, "A Python file whose functions scripts may call", "FILE");
  add_backend_option(command, options);
  add_set_option(command, options.overrides);
  command.add_flag("-i,--interactive", options.interactive,
                   "Steps that share their variables: the files, then what is typed");
  command
      .add_flag("--json{events}", raw.json,
                "JSON lines: start, events, and the result last; --json=result: the result alone. "
                "With -i, requests are JSON lines too (docs/from-python.md)")
      ->check(CLI::IsMember({"events", "result"}));
  command.add_flag("-q,--quiet", options.quiet, "No summary");
  command.add_flag("--allow-degraded", options.allow_degraded,
                   "Start although the kernel lacks a protection");
}

JsonAnswers json_answers_of(const RawRunOptions& raw) {
  if (raw.json.empty()) return JsonAnswers::none;
  return raw.json == "result" ? JsonAnswers::result : JsonAnswers::events;
}

RunOptions checked(const RawRunOptions& raw) {
  RunOptions options = raw.options;
  options.json = json_answers_of(raw);
  if (!raw.config.empty()) options.config = raw.config;
  if (!raw.timeout.empty()) {
    options.timeout_seconds = parse_seconds(raw.timeout);
    if (!options.timeout_seconds)
      throw CLI::ValidationError(
          "--timeout", "expects seconds, more than 0 and at most a year, got " + raw.timeout);
  }
  if (!raw.memory.empty()) {
    options.memory_mb = parse_megabytes(raw.memory);
    if (!options.memory_mb)
      throw CLI::ValidationError("--memory", "expects a size like 512M or 2G, got " + raw.memory);
  }
  const settings::Env ours = settings::current_env();
  for (const std::string& text : raw.env) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty()) throw CLI::ValidationError("--env", "expects NAME[=VALUE], got " + text);
    const auto found = ours.find(name);
    if (equals != std::string::npos) {
      options.env[name] = text.substr(equals + 1);
    } else if (found != ours.end()) {
      options.env[name] = found->second;
    }
  }
  for (const std::string& text : raw.mounts) {
    const auto mount = parse_mount(text);
    if (!mount) throw CLI::ValidationError("--mount", "expects HOST:PATH[:rw], got " + text);
    if (!std::filesystem::exists(mount->host_path))
      throw CLI::ValidationError("--mount", text + ": there is no " + mount->host_path);
    options.mounts.push_back(*mount);
  }
  options.pool_size = 0;  // a sandbox is made when it is needed
  if (options.files.empty() && !options.interactive) {
    if (::isatty(STDIN_FILENO) == 1) throw CLI::RequiredError("FILE, - or --interactive");
    options.files = {"-"};
  }
  return options;
}

}  // namespace hearth::cli
