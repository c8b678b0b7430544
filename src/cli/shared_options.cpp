#include "cli/shared_options.h"

#include "base/joined.h"
#include "os/read_file.h"
#include "runtime/backends.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstddef>

namespace hearth::cli {
namespace {

std::string overridable_sections() {
  std::vector<std::string> sections;
  for (const settings::OverridableKey& key : settings::overridable_keys())
    if (const std::string section = '[' + key.section + ']';
        sections.empty() || sections.back() != section)
      sections.push_back(section);
  return joined(sections, ", ");
}

settings::CommandLineSetting parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw CLI::ValidationError("--set", "expects section.key=value, got " + text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void add_set_option(CLI::App& command, std::vector<settings::CommandLineSetting>& overrides) {
  command
      .add_option_function<std::vector<std::string>>(
          "--set",
          [&overrides](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) overrides.push_back(parse_setting(text));
          },
          "Override one key of " + overridable_sections() + "; may be given several times")
      ->type_name("section.key=value")
      ->allow_extra_args(false);
}

void add_backend_option(CLI::App& command, RunOptions& options) {
  command
      .add_option("--backend", options.backend,
                  "What makes the sandboxes, instead of the configuration's pool.backend")
      ->check(CLI::IsMember(runtime::names_of(runtime::usual_backends())));
}

std::string read_script(const std::string& file) {
  constexpr std::size_t most_bytes = std::size_t{8} << 20;
  if (file == "-") return os::read_rest(STDIN_FILENO, "standard input", most_bytes);
  return os::read_file(file, most_bytes);
}

}  // namespace hearth::cli
