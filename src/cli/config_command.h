// cli/config_command.h: `hearth config check`.
#pragma once

#include "settings/overrides.h"

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// Adds `config` to `app`; when it runs, its exit code goes to `result`, which must outlive `app`.
void add_config_command(CLI::App& app, int& result);

struct ConfigCheck {
  std::optional<std::filesystem::path> file{};
  std::vector<settings::CommandLineSetting> overrides{};
  bool as_json = false;
  bool with_colours = false;
};

// Prints the effective configuration to `out`, or every problem to `errors`; returns an exit code.
int check_config(const ConfigCheck& check, const settings::Env& env, std::ostream& out,
                 std::ostream& errors);

}  // namespace hearth::cli
