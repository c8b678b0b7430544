#include "cli/shared_options.h"

#include "base/error.h"
#include "base/joined.h"
#include "base/json_escape.h"
#include "os/read_file.h"
#include "runtime/backends.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

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

void add_variable(std::map<std::string, std::string>& env, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (name.empty()) throw CLI::ValidationError("--env", "expects NAME[=VALUE], got " + text);
  if (equals != std::string::npos) {
    env[name] = text.substr(equals + 1);
  } else if (const char* ours = std::getenv(name.c_str()); ours != nullptr) {
    env[name] = ours;
  } else {
    std::cerr << "hearth: --env " << name << ": not set here, so scripts do not get it\n";
  }
}

blueprint::FileResource existing_mount(const std::string& text) {
  const auto mount = parse_mount(text);
  if (!mount) throw CLI::ValidationError("--mount", "expects HOST:PATH[:rw], got " + text);
  if (!std::filesystem::exists(mount->host_path))
    throw CLI::ValidationError("--mount", text + ": there is no " + mount->host_path);
  return *mount;
}

void add_repeated(CLI::App& command, const char* names, std::vector<std::string>& into,
                  const char* what, const char* type) {
  command.add_option(names, into, what)->type_name(type)->allow_extra_args(false);
}

// Scripts travel as text. Bytes of another encoding would become replacement characters, without a
// word.
void require_utf8(const std::string& name, std::string_view script) {
  if (is_utf8(script)) return;
  std::size_t number = 1;
  for (; !script.empty(); ++number) {
    const std::size_t size = std::min(script.find('\n'), script.size() - 1) + 1;
    if (!is_utf8(script.substr(0, size))) break;
    script.remove_prefix(size);
  }
  throw Error(name + ", line " + std::to_string(number) +
              ": not UTF-8; save the script as UTF-8 (another `coding:` is not supported)");
}

}  // namespace

void add_surroundings_options(CLI::App& command, RawScriptOptions& raw) {
  add_repeated(command, "-e,--env", raw.env,
               "A variable inside; without =VALUE the one of hearth itself, which no other user "
               "sees",
               "NAME[=VALUE]");
  add_repeated(command, "--mount", raw.mounts,
               "A file or directory to show inside, read-only unless :rw; its permissions hold, "
               "and a sandbox is an ordinary user",
               "HOST:PATH[:rw]");
}

void add_tool_option(CLI::App& command, RawScriptOptions& raw) {
  add_repeated(command, "--tool", raw.tools, "A Python file whose functions scripts may call",
               "FILE");
}

void add_script_options(CLI::App& command, RawScriptOptions& raw) {
  add_surroundings_options(command, raw);
  add_tool_option(command, raw);
}

void apply(const RawScriptOptions& raw, RunOptions& options) {
  for (const std::string& text : raw.env) add_variable(options.env, text);
  for (const std::string& text : raw.mounts) options.mounts.push_back(existing_mount(text));
  options.tools = raw.tools;
}

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

void add_python_option(CLI::App& command, RunOptions& options) {
  command
      .add_option(
          "--python", options.python,
          "The Python of the scripts, instead of the blueprint's: 3.11, 3.11.2, or the path "
          "of one on this machine, also of a virtual environment")
      ->type_name("VERSION|PATH");
}

std::string read_script(const std::string& file) {
  constexpr std::size_t most_bytes = std::size_t{8} << 20;
  const bool is_input = file == "-";
  std::string script = is_input ? os::read_rest(STDIN_FILENO, "standard input", most_bytes)
                                : os::read_file(file, most_bytes);
  require_utf8(is_input ? "standard input" : file, script);
  return script;
}

}  // namespace hearth::cli
