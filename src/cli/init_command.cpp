#include "cli/init_command.h"

#include "base/error.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "os/durable_files.h"
#include "os/trusted_path.h"
#include "runtime/backends.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <system_error>

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* init_details =
    R"(Writes hearth.toml, with one blueprint and one tool, and tools/example.py into DIR (the current
directory without one). Files that are there already are never replaced: then nothing is written.)";

constexpr const char* starter_configuration =
    R"(# Hearth's configuration. `hearth config check` checks it and prints every key with its value.
[[blueprint]]
name = "default"
python_version = "{}"
dependencies = []           # pip requirements, like "pandas>=2"
preload = []                # modules that are imported once, like "pandas"

[blueprint.resource_limits]
memory_mb = 256
execution_timeout_sec = 30

[[tool]]
name = "example"            # its functions can be called by scripts, without an import
file = "tools/example.py"
blueprints = ["default"]
)";

constexpr const char* starter_tool =
    R"("""Functions that scripts may call. They run in the sandbox, as the script does."""


def count_words(text):
    words = text.split()
    return ToolResult(True, data={"words": len(words), "distinct": len(set(words))})
)";

// As the user typed it: `.` is not shown.
std::string shown(const fs::path& path) { return path.lexically_normal().string(); }

void make_directory(const fs::path& directory) {
  std::error_code failed;
  if (fs::is_directory(directory, failed)) return;
  if (directory.has_parent_path()) make_directory(directory.parent_path());
  os::make_directory(directory, 0755);
}

}  // namespace

void write_starter(const fs::path& directory, std::ostream& out) {
  const fs::path configuration = directory / "hearth.toml";
  const fs::path tool = directory / "tools" / "example.py";
  for (const fs::path& file : {configuration, tool}) {
    std::error_code failed;
    if (fs::exists(fs::symlink_status(file, failed)))
      throw Error(shown(file) + " is there already; nothing was written");
  }
  const std::string python = runtime::plain_blueprint().python_version;
  // Nothing is made or written where another user could lead it elsewhere.
  os::resolve_trusted_way(tool);
  make_directory(tool.parent_path());
  os::write_new_file(tool, starter_tool, 0644);
  os::write_new_file(configuration, fmt::format(fmt::runtime(starter_configuration), python), 0644);
  const std::string enter = directory == "." ? "" : "cd " + shown(directory) + "\n  ";
  out << "wrote " << shown(configuration) << " and " << shown(tool) << "; try\n\n  " << enter
      << "echo 'count_words(\"to be or not to be\")' | hearth run\n";
}

void add_init_command(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("init", "Write a small configuration to start with");
  command->footer(init_details);
  const auto directory = std::make_shared<std::string>(".");
  command->add_option("DIR", *directory, "Where; made if it is not there")->type_name("");
  command->callback([directory, &result] {
    try {
      write_starter(*directory, std::cout);
      result = exit_code::ok;
    } catch (...) {
      result = complain_about_current_exception();
    }
  });
}

}  // namespace hearth::cli
