#include "cli/manual.h"

#include "base/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace hearth::cli {
namespace {

// Nothing in it is a command of roff.
std::string plain(std::string_view text) {
  std::string page;
  bool is_first_of_line = true;
  for (const char c : text) {
    if (is_first_of_line && (c == '.' || c == '\'')) page += "\\&";
    is_first_of_line = c == '\n';
    if (c == '\\')
      page += "\\e";
    else if (c == '-')
      page += "\\-";
    else
      page += c;
  }
  return page;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

std::string shown(const CommandOption& option) {
  std::string text = joined(option.names, ", ", bold);
  const std::string choices = joined(option.choices, "|", bold);
  if (option.value.empty()) return choices.empty() ? text : text + "[=" + choices + ']';
  return text + ' ' + (choices.empty() ? italic(option.value) : choices);
}

std::string shown(const CommandArgument& argument) {
  const std::string text = italic(argument.name) + (argument.may_repeat ? "..." : "");
  return argument.is_required ? text : '[' + text + ']';
}

std::string usage_of(const CommandTable& command) {
  std::string text = bold(command.words);
  if (!command.options.empty()) text += " [" + italic("options") + ']';
  for (const CommandArgument& argument : command.arguments) text += ' ' + shown(argument);
  return text;
}

std::string item(const std::string& term, const std::string& text) {
  return ".TP\n" + term + '\n' + plain(text) + '\n';
}

// As its help shows it, which is laid out by hand.
std::string details_of(const CommandTable& command) {
  if (command.details.empty()) return {};
  return ".PP\n.nf\n" + plain(command.details) + "\n.fi\n";
}

bool is_help(const CommandOption& option) {
  return std::find(option.names.begin(), option.names.end(), "--help") != option.names.end();
}

// Commands that only lead to others have nothing to say of their own.
std::string section_of(const CommandTable& command) {
  std::string text = ".SS \"" + plain(command.words) + "\"\n";
  if (command.commands.empty()) text += usage_of(command) + "\n.PP\n";
  text += plain(command.text) + ".\n";
  for (const CommandArgument& argument : command.arguments)
    text += item(italic(argument.name), argument.text);
  for (const CommandOption& option : command.options)
    if (!is_help(option)) text += item(shown(option), option.text);
  return text + details_of(command);
}

}  // namespace

std::string manual_page(const CommandTable& table, const std::string& version) {
  std::string page = fmt::format(".TH HEARTH 1 \"\" \"{}\" \"User Commands\"\n", plain(version));
  page += ".SH NAME\nhearth \\- " + plain(table.text) + "\n.SH SYNOPSIS\n";
  const std::vector<const CommandTable*> commands = all_commands(table);
  for (const CommandTable* command : commands)
    if (command->commands.empty()) page += usage_of(*command) + "\n.br\n";
  page += ".SH DESCRIPTION\n" + plain(table.details) + "\n.SH OPTIONS\n";
  for (const CommandOption& option : table.options) page += item(shown(option), option.text);
  page += ".SH COMMANDS\n";
  for (const CommandTable* command : commands)
    if (command != &table) page += section_of(*command);
  return page;
}

}  // namespace hearth::cli
