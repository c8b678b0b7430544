// The program `hearth`. Each command is a file of its own beside this one.
#include "cli/bench_command.h"
#include "cli/command_line.h"
#include "cli/completion_command.h"
#include "cli/config_command.h"
#include "cli/doctor_command.h"
#include "cli/exec_command.h"
#include "cli/exit_code.h"
#include "cli/image_command.h"
#include "cli/init_command.h"
#include "cli/run_command.h"
#include "cli/session_command.h"
#include "cli/shell_command.h"
#include "cli/tools_command.h"
#include "os/own_memory.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>

namespace {

namespace exit_code = hearth::cli::exit_code;

constexpr const char* details =
    R"(`hearth FILE.py` is `hearth run FILE.py`; `hearth help COMMAND` explains a command.)";

int run_command_line(hearth::cli::Arguments arguments) {
  CLI::App app("Runs code written by language models in warm, hardened sandboxes.", "hearth");
  app.footer(details);
  app.set_version_flag("--version", "hearth " HEARTH_VERSION);
  int result = exit_code::ok;
  hearth::cli::add_run_command(app, result);
  hearth::cli::add_exec_command(app, result);
  hearth::cli::add_shell_command(app, result);
  hearth::cli::add_session_command(app, result);
  hearth::cli::add_bench_command(app, result);
  hearth::cli::add_tools_command(app, result);
  hearth::cli::add_image_command(app, result);
  hearth::cli::add_config_command(app, result);
  hearth::cli::add_doctor_command(app, result);
  hearth::cli::add_init_command(app, result);
  hearth::cli::add_completion_commands(app);
  arguments = hearth::cli::without_shorthands(std::move(arguments), app);
  for (const std::string& problem : {hearth::cli::file_taken_for_option(arguments),
                                     hearth::cli::command_without_dashes(arguments)}) {
    if (problem.empty()) continue;
    std::fprintf(stderr, "%s\n", problem.c_str());
    return exit_code::invalid_input;
  }
  try {
    app.parse(hearth::cli::Arguments(arguments.rbegin(), arguments.rend()));  // as CLI11 takes them
    // Not require_subcommand(): that hides what a mistyped command was.
    if (!app.get_subcommands().empty()) return result;
    std::fputs(app.help().c_str(), stderr);
    return exit_code::invalid_input;
  } catch (const CLI::ExtrasError&) {
    std::fprintf(stderr, "%s\n", hearth::cli::unexpected_argument(app, arguments).c_str());
    return exit_code::invalid_input;
  } catch (const CLI::ParseError& error) {
    // CLI11 prints help and versions through errors, too; those are no failures.
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "%s\n", hearth::cli::bad_usage(app, error.what()).c_str());
    return exit_code::invalid_input;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hearth: %s\n", error.what());
    return exit_code::failure;
  }
}

// Output that was lost, on a full disk for instance, is no success.
bool output_is_written() {
  std::cout.flush();
  return std::cout.good() && std::fflush(stdout) == 0;
}

}  // namespace

int main(int argc, char** argv) try {
  hearth::os::hide_own_memory();  // secrets are in it
  const int result = run_command_line({argv + std::min(argc, 1), argv + argc});
  if (output_is_written()) return result;
  std::fputs("hearth: standard output cannot be written to, and what it was for is lost\n", stderr);
  return result == exit_code::ok ? exit_code::failure : result;
} catch (const std::exception& error) {
  std::fprintf(stderr, "hearth: %s\n", error.what());
  return exit_code::failure;
}
