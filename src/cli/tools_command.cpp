#include "cli/tools_command.h"

#include "cli/run_command.h"
#include "cli/run_plan.h"
#include "cli/shared_options.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace hearth::cli {
namespace {

constexpr const char* tools_details =
    R"(Loads the tools in a sandbox of the blueprint, without secrets, and lists what scripts may call:
functions and classes that the files define and whose names do not begin with an underscore, with
signature and documentation. That is what belongs into the prompt of a model that writes scripts.)";

// A tool is what the harness calls one (loading.py).
constexpr const char* lister = R"py(
import inspect
import json
import sys
import textwrap


def described(name, tool):
    try:
        signature = name + str(inspect.signature(tool))
    except (TypeError, ValueError):
        signature = name + "(...)"
    return {"name": name, "signature": signature, "doc": inspect.getdoc(tool) or ""}


found = [
    described(name, tool)
    for name, tool in sorted(globals().items())
    if callable(tool) and name[0] != "_" and getattr(tool, "__module__", None) == "hearth_tools"
]
if AS_JSON:
    print(json.dumps(found, ensure_ascii=False))
else:
    if not found:
        print("hearth: no tools", file=sys.stderr)
    blocks = [tool["signature"] + "\n" + textwrap.indent(tool["doc"], "    ") for tool in found]
    print("\n\n".join(block.rstrip() for block in blocks), end="\n" if blocks else "")
)py";

struct ToolsOptions {
  RunOptions run{};
  std::string config{};
  bool as_json = false;
};

int list_tools(const ToolsOptions& options) {
  RunOptions run = options.run;
  run.quiet = true;
  run.pool_size = 0;
  if (!options.config.empty()) run.config = options.config;
  const std::string mode = options.as_json ? "AS_JSON = True\n" : "AS_JSON = False\n";
  return run_own_script(std::move(run), mode + lister);
}

}  // namespace

void add_tools_command(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("tools", "List the tools that scripts may call");
  command->footer(tools_details);
  const auto options = std::make_shared<ToolsOptions>();
  RunOptions& run = options->run;
  command->add_option("-c,--config", options->config, "The configuration")->type_name("FILE");
  command->add_option("-b,--blueprint", run.blueprint, "Which blueprint of the configuration")
      ->type_name("NAME");
  command->add_option("--tool", run.tools, "A Python file beside those of the configuration")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_backend_option(*command, run);
  add_python_option(*command, run);
  add_set_option(*command, run.overrides);
  command->add_flag("--allow-degraded", run.allow_degraded,
                    "Start although the kernel lacks a protection");
  command->add_flag("--json", options->as_json,
                    "Print one list of objects with name, signature and doc");
  command->callback([options, &result] { result = list_tools(*options); });
}

}  // namespace hearth::cli
