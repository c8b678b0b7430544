#include "cli/run_options.h"

#include "base/language.h"
#include "cli/shared_options.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <string>
#include <vector>

namespace hearth::cli {
namespace {

std::vector<std::string> names_of_languages() {
  std::vector<std::string> names;
  for (const Language& language : languages()) names.emplace_back(language.name);
  return names;
}

}  // namespace

void add_sandbox_options(CLI::App& command, RawRunOptions& raw, const std::string& what_runs) {
  RunOptions& options = raw.options;
  command.add_option("-c,--config", raw.config, "The configuration")->type_name("FILE");
  command.add_option("-b,--blueprint", options.blueprint, "Which blueprint of the configuration")
      ->type_name("NAME");
  command.add_option("-t,--timeout", raw.timeout, "Time limit of " + what_runs)
      ->type_name("SECONDS");
  command
      .add_option("-m,--memory", raw.memory,
                  "Memory limit: megabytes, or with a unit like 512M or 2G")
      ->type_name("SIZE");
  add_surroundings_options(command, raw.script);
  add_transfer_options(command, raw.transfers);
  add_backend_option(command, options);
  add_python_option(command, options);
  add_set_option(command, options.overrides);
  command.add_flag("-q,--quiet", options.quiet, "No summary");
  command.add_flag("--allow-degraded", options.allow_degraded,
                   "Start although the kernel lacks a protection");
}

void add_cwd_option(CLI::App& command, std::string& directory) {
  command
      .add_option("-w,--cwd", directory,
                  "Directory in the sandbox where it starts, by default /workspace")
      ->type_name("PATH");
}

void add_json_option(CLI::App& command, RawRunOptions& raw, const std::string& more) {
  command
      .add_flag(
          "--json{events}", raw.json,
          "JSON lines: start, events, and the result last; --json=result: the result alone" + more)
      ->check(CLI::IsMember({"events", "result"}));
}

void add_run_options(CLI::App& command, RawRunOptions& raw) {
  RunOptions& options = raw.options;
  command.add_option("FILE", options.files, "Scripts; - is standard input")->type_name("");
  add_sandbox_options(command, raw, "each script");
  add_tool_option(command, raw.script);
  command
      .add_option("-l,--language", options.language,
                  "Language of the files, instead of what their names say")
      ->check(CLI::IsMember(names_of_languages()));
  command.add_flag("-i,--interactive", options.interactive,
                   "Steps that share their variables: the files, then what is typed");
  add_json_option(command, raw, ". With -i, requests are JSON lines too (docs/from-python.md)");
}

JsonAnswers json_answers_of(const RawRunOptions& raw) {
  if (raw.json.empty()) return JsonAnswers::none;
  return raw.json == "result" ? JsonAnswers::result : JsonAnswers::events;
}

RunOptions checked_sandbox(const RawRunOptions& raw) {
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
      throw CLI::ValidationError(
          "--memory",
          "expects megabytes or a size like 512M or 2G, from 1M to 16T, got " + raw.memory);
  }
  apply(raw.script, options);
  options.transfers = checked(raw.transfers);
  options.pool_size = 0;  // a sandbox is made when it is needed
  return options;
}

RunOptions checked(const RawRunOptions& raw) {
  RunOptions options = checked_sandbox(raw);
  if (options.files.empty() && !options.interactive) {
    if (::isatty(STDIN_FILENO) == 1) throw CLI::RequiredError("FILE, - or --interactive");
    options.files = {"-"};
  }
  if (options.transfers.take_anything() && options.files.size() > 1 && !options.interactive)
    throw CLI::ValidationError(
        "--get and --save",
        "copy out of one sandbox, and each FILE has one of its own; run them one by one, or as "
        "steps with --interactive");
  return options;
}

}  // namespace hearth::cli
