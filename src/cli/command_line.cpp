#include "cli/command_line.h"

#include "base/language.h"
#include "base/nearest.h"
#include "blueprint/problem.h"
#include "cli/exit_code.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

namespace hearth::cli {
namespace {

Arguments names_of_commands(const CLI::App& app) {
  Arguments names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

bool is_script(const std::string& argument) {
  std::error_code failed;
  return argument == "-" || language_of_file(argument) != nullptr ||
         std::filesystem::is_regular_file(argument, failed);
}

// The command that was found, however many words it has.
const CLI::App* innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return command;
}

std::string words_of(const CLI::App* command) {
  std::string words = command->get_name();
  for (const CLI::App* outer = command->get_parent(); outer != nullptr; outer = outer->get_parent())
    words = outer->get_name() + ' ' + words;
  return words;
}

Arguments long_options(const CLI::App& command) {
  Arguments names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string quoted_suggestion(const std::string& wanted, const Arguments& known) {
  const std::optional<std::string> meant = nearest(wanted, known);
  return meant ? "; did you mean " + *meant + '?' : std::string();
}

}  // namespace

Arguments without_shorthands(Arguments arguments, const CLI::App& app) {
  if (arguments.empty()) return arguments;
  const Arguments known = names_of_commands(app);
  const std::string& first = arguments.front();
  if (std::find(known.begin(), known.end(), first) != known.end()) return arguments;
  if (first == "help") {
    arguments.erase(arguments.begin());
    const bool is_known = arguments.empty() ||
                          std::find(known.begin(), known.end(), arguments.front()) != known.end();
    if (is_known) arguments.emplace_back("--help");
  } else if (is_script(first)) {
    arguments.insert(arguments.begin(), "run");
  }
  return arguments;
}

std::string file_taken_for_option(const Arguments& arguments) {
  if (arguments.empty() || (arguments.front() != "run" && arguments.front() != "session"))
    return {};
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (word.size() < 2 || !word.starts_with('-')) continue;
    std::error_code failed;
    if (!std::filesystem::exists(std::filesystem::symlink_status(word, failed))) continue;
    return "hearth: " + blueprint::in_quotes(word) +
           " is an option, and the name of a file in this directory. The file is " +
           blueprint::in_quotes("./" + word) +
           ", or any word after --; the option is one in another directory, or when the file is "
           "renamed";
  }
  return {};
}

std::string command_without_dashes(const Arguments& arguments) {
  if (arguments.empty() || arguments.front() != "exec") return {};
  bool has_words = false;
  for (auto word = arguments.begin() + 1; word != arguments.end(); ++word) {
    for (const char* alone : {"--", "-h", "--help"})
      if (*word == alone) return {};
    if (word->starts_with("-s") || word->starts_with("--shell")) return {};
    has_words = has_words || !word->starts_with('-');
  }
  return has_words ? "hearth exec: the command stands behind --, as in: hearth exec -- ls -la"
                   : std::string();
}

std::string unexpected_argument(const CLI::App& app, const Arguments& arguments) {
  // CLI11 has them in an order of its own.
  const Arguments remaining = app.remaining(true);
  const auto first = std::find_if(arguments.begin(), arguments.end(), [&](const auto& argument) {
    return std::find(remaining.begin(), remaining.end(), argument) != remaining.end();
  });
  const CLI::App* command = innermost(app);
  const std::string words = words_of(command);
  std::string text = words + ": ";
  if (first == arguments.end()) {
    text += "bad usage";
  } else if (first->starts_with('-') && *first != "-") {
    const std::string option = first->substr(0, first->find('='));
    if (command->get_option_no_throw(option) != nullptr)
      return words_of(&app) + ": " + option + " stands before the command it belongs to; write " +
             words + ' ' + option + " ...";
    text += "no option " + option + quoted_suggestion(option, long_options(*command));
  } else if (const Arguments known = names_of_commands(*command); !known.empty()) {
    text += "no command \"" + *first + '"' + quoted_suggestion(*first, known);
  } else {
    text += "no argument is expected here: \"" + *first + '"';
  }
  return text + " (`" + words + " --help` lists what there is)";
}

std::string bad_usage(const CLI::App& app, const std::string& what) {
  const std::string words = words_of(innermost(app));
  return words + ": " + what + " (`" + words + " --help` explains it)";
}

void require_command(CLI::App& command, int& result) {
  command.callback([&command, &result] {
    if (!command.get_subcommands().empty()) return;
    std::cerr << command.help(command.get_parent()->get_name());
    result = exit_code::invalid_input;
  });
}

}  // namespace hearth::cli
