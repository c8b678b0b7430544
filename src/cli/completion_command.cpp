#include "cli/completion_command.h"

#include "cli/command_table.h"
#include "cli/completion.h"
#include "cli/manual.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

namespace hearth::cli {
namespace {

constexpr const char* completion_details =
    R"(An installed hearth has its scripts where the shells look for them. For this shell alone:
  bash   source <(hearth completion bash)
  zsh    source <(hearth completion zsh)       (after compinit)
  fish   hearth completion fish | source)";

std::string script_for(const std::string& shell, const CommandTable& table) {
  if (shell == "bash") return bash_completion(table);
  return shell == "zsh" ? zsh_completion(table) : fish_completion(table);
}

}  // namespace

void add_completion_commands(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      app.add_subcommand("completion", "Print a script that completes hearth's words in a shell");
  completion->footer(completion_details);
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, shell] { std::cout << script_for(*shell, command_table(app)); });
  app.add_subcommand("man", "Print the manual page: hearth man | man -l -")->callback([&app] {
    std::cout << manual_page(command_table(app), app.version());
  });
}

}  // namespace hearth::cli
