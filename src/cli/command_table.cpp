#include "cli/command_table.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>

namespace hearth::cli {
namespace {

// CLI11 prints them as `TEXT:{docker,native}`, and has no other way to ask.
std::vector<std::string> choices_in(const std::string& type) {
  std::vector<std::string> choices;
  std::size_t at = type.find('{');
  const std::size_t end = type.find('}');
  while (at < end && end != std::string::npos) {
    const std::size_t next = std::min(type.find(',', at + 1), end);
    choices.push_back(type.substr(at + 1, next - at - 1));
    at = next;
  }
  return choices;
}

CommandOption option_of(const CLI::Option& option) {
  CommandOption found{.text = option.get_description()};
  for (const std::string& name : option.get_snames()) found.names.push_back('-' + name);
  for (const std::string& name : option.get_lnames()) found.names.push_back("--" + name);
  const std::string type = option.get_type_name();
  found.choices = choices_in(type);
  if (option.get_items_expected_max() > 0) found.value = type.substr(0, type.find(':'));
  return found;
}

CommandTable table_of(const CLI::App& app, const std::string& outer) {
  CommandTable table{.words = outer + app.get_name(), .text = app.get_description()};
  table.details = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) table.options.push_back(option_of(*option));
    if (option->get_positional())
      table.arguments.push_back({.name = option->get_name(true, false),
                                 .text = option->get_description(),
                                 .is_required = option->get_required(),
                                 .may_repeat = option->get_items_expected_max() > 1});
  }
  for (const CLI::App* command : app.get_subcommands({}))
    table.commands.push_back(table_of(*command, table.words + ' '));
  return table;
}

void add_all(const CommandTable& table, std::vector<const CommandTable*>& into) {
  into.push_back(&table);
  for (const CommandTable& command : table.commands) add_all(command, into);
}

}  // namespace

bool CommandOption::takes_file() const {
  return value.find("FILE") != std::string::npos || value.find("PATH") != std::string::npos ||
         value.find("DIR") != std::string::npos;
}

std::string CommandTable::name() const { return words.substr(words.rfind(' ') + 1); }

CommandTable command_table(const CLI::App& app) { return table_of(app, ""); }

std::vector<const CommandTable*> all_commands(const CommandTable& table) {
  std::vector<const CommandTable*> all;
  add_all(table, all);
  return all;
}

}  // namespace hearth::cli
