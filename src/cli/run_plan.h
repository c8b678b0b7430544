// cli/run_plan.h: which sandbox `hearth run` needs, decided from the configuration and the command
// line before anything is built or started.
#pragma once

#include "cli/transfer_options.h"
#include "registry/tool_registry.h"
#include "settings/load.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// What a program gets on standard output, if anything.
enum class JsonAnswers { none, events, result };

struct RunOptions {
  std::vector<std::string> files{};  // "-" is standard input
  std::optional<std::string> config{};
  std::string blueprint{};  // empty: `default`, or the only one there is
  std::string language{};   // of the files; empty: as their names say
  std::optional<double> timeout_seconds{};
  std::optional<std::int64_t> memory_mb{};
  std::map<std::string, std::string> env{};
  std::vector<blueprint::FileResource> mounts{};
  std::vector<std::string> tools{};  // files
  std::string python{};              // a version, or a path; empty: the blueprint's
  TransferOptions transfers{};
  bool interactive = false;
  bool on_terminal = false;         // a command that has one, which is ours
  bool without_time_limit = false;  // of a command, unless timeout_seconds says one
  JsonAnswers json = JsonAnswers::none;
  bool quiet = false;
  bool allow_degraded = false;
  bool any_blueprint = false;  // whichever is called for, later
  std::optional<std::int64_t> pool_size{};
  std::string backend{};  // empty: as configured
  std::vector<settings::CommandLineSetting> overrides{};
};

// "512M", "2g", "1T", and "512" as megabytes; nothing if it is none, or more than 16 TB.
std::optional<std::int64_t> parse_megabytes(const std::string& text);
// More than 0 and at most a year; nothing for anything else.
std::optional<double> parse_seconds(const std::string& text);
// HOST:PATH or HOST:PATH:rw
std::optional<blueprint::FileResource> parse_mount(const std::string& text);

struct RunPlan {
  settings::Settings settings{};
  registry::ToolRegistry registry{};
  std::string blueprint{};
  std::string configuration{};          // the absolute path of its file; empty: there is none
  bool configuration_was_named = true;  // or is the machine's; false: the current directory's
};

// SettingsError, ConfigError, ToolError, UnknownBlueprint or Error, each with a message for people.
RunPlan make_run_plan(const RunOptions& options, const settings::Env& env);

}  // namespace hearth::cli
