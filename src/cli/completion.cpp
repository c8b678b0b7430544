#include "cli/completion.h"

#include "base/joined.h"

#include <fmt/format.h>

#include <vector>

namespace hearth::cli {
namespace {

// For bash, zsh and fish alike: in single quotes, which hold a quote only outside of themselves.
std::string quoted(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + '\'';
}

// Which words are commands, as patterns of a `case`: `'hearth run'|'hearth image'`.
std::string patterns_of_commands(const CommandTable& table) {
  std::vector<std::string> patterns;
  for (const CommandTable* command : all_commands(table))
    if (command->words != table.words) patterns.push_back(quoted(command->words));
  return joined(patterns, "|");
}

// `'hearth run:-c'|'hearth run:--config'`
std::string patterns_of_option(const CommandTable& command, const CommandOption& option) {
  return joined(option.names, "|",
                [&](const std::string& name) { return quoted(command.words + ':' + name); });
}

// A script without a command is a shorthand of `run`.
bool takes_files(const CommandTable& command, const CommandTable& table) {
  return !command.arguments.empty() || command.words == table.words;
}

std::vector<std::string> names_of_commands(const CommandTable& command) {
  std::vector<std::string> names;
  for (const CommandTable& inner : command.commands) names.push_back(inner.name());
  return names;
}

std::vector<std::string> names_of_options(const CommandTable& command) {
  std::vector<std::string> names;
  for (const CommandOption& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

}  // namespace

std::string bash_completion(const CommandTable& table) {
  std::string values;
  std::string words;
  for (const CommandTable* command : all_commands(table)) {
    for (const CommandOption& option : command->options) {
      if (option.value.empty()) continue;
      const std::string found =
          option.takes_file() ? "_hearth_files" : "words=" + quoted(joined(option.choices, " "));
      values += fmt::format("    {}) {};;\n", patterns_of_option(*command, option),
                            option.takes_file() ? found + "; return" : found);
    }
    words += fmt::format("    {}) commands={} options={} files={} ;;\n", quoted(command->words),
                         quoted(joined(names_of_commands(*command), " ")),
                         quoted(joined(names_of_options(*command), " ")),
                         takes_files(*command, table) ? 1 : 0);
  }
  return fmt::format(R"(# Completion of hearth for bash; made by `hearth completion bash`.
_hearth_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}}

_hearth() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} command=hearth commands= options= files=0 words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${{COMP_WORDS[i]}}" in
    {}) command+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command:${{COMP_WORDS[COMP_CWORD - 1]}}" in
{}  esac
  if [[ -n ${{words+set}} ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    return
  fi
  case "$command" in
{}  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi
  COMPREPLY=()
  ((files)) && _hearth_files
  local found
  mapfile -t found < <(compgen -W "$commands" -- "$cur")
  COMPREPLY+=("${{found[@]}}")
}}
complete -F _hearth hearth
)",
                     patterns_of_commands(table), values, words);
}

namespace {

// `name:text` as zsh's _describe wants it: a colon in the name is none that ends it.
std::string described(const std::string& name, const std::string& text) {
  std::string word;
  for (const char c : name) word += c == ':' ? std::string("\\:") : std::string(1, c);
  return quoted(word + ':' + text);
}

std::string zsh_case(const CommandTable& command, const CommandTable& table) {
  std::vector<std::string> commands;
  for (const CommandTable& inner : command.commands)
    commands.push_back(described(inner.name(), inner.text));
  std::vector<std::string> options;
  for (const CommandOption& option : command.options)
    for (const std::string& name : option.names) options.push_back(described(name, option.text));
  return fmt::format("    ({}) commands=({}) options=({}) files={} ;;\n", quoted(command.words),
                     joined(commands, " "), joined(options, " "),
                     takes_files(command, table) ? 1 : 0);
}

}  // namespace

std::string zsh_completion(const CommandTable& table) {
  std::string values;
  std::string words;
  for (const CommandTable* command : all_commands(table)) {
    for (const CommandOption& option : command->options) {
      if (option.value.empty()) continue;
      std::string found = "_message " + quoted(option.value);
      if (option.takes_file()) found = "_files";
      if (!option.choices.empty()) found = "compadd -- " + joined(option.choices, " ");
      values +=
          fmt::format("    ({}) {}; return ;;\n", patterns_of_option(*command, option), found);
    }
    words += zsh_case(*command, table);
  }
  return fmt::format(R"(#compdef hearth
# Completion of hearth for zsh; made by `hearth completion zsh`.
_hearth() {{
  local command=hearth files=0 i
  local -a commands options
  for ((i = 2; i < CURRENT; i++)); do
    case "$command ${{words[i]}}" in
    ({}) command+=" ${{words[i]}}" ;;
    esac
  done
  case "$command:${{words[CURRENT-1]}}" in
{}  esac
  case "$command" in
{}  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
    return
  fi
  (( $#commands )) && _describe command commands
  (( files )) && _files
}}
if [[ $funcstack[1] == _hearth ]]; then _hearth "$@"; else compdef _hearth hearth; fi
)",
                     patterns_of_commands(table), values, words);
}

std::string fish_completion(const CommandTable& table) {
  std::string lines =
      fmt::format(R"(# Completion of hearth for fish; made by `hearth completion fish`.
function __hearth_at
    set -l command hearth
    for word in (commandline -opc)[2..-1]
        contains -- "$command $word" {} && set command "$command $word"
    end
    test "$command" = "$argv"
end
complete -c hearth -f
)",
                  joined(all_commands(table), " ",
                         [](const CommandTable* command) { return quoted(command->words); }));
  for (const CommandTable* command : all_commands(table)) {
    const std::string at = "complete -c hearth -n " + quoted("__hearth_at " + command->words);
    for (const CommandTable& inner : command->commands)
      lines += fmt::format("{} -a {} -d {}\n", at, inner.name(), quoted(inner.text));
    if (takes_files(*command, table)) lines += at + " -F\n";
    for (const CommandOption& option : command->options) {
      std::string line = at;
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty()) line += option.takes_file() ? " -r -F" : " -x";
      if (!option.value.empty() && !option.choices.empty())
        line += " -a " + quoted(joined(option.choices, " "));
      lines += line + " -d " + quoted(option.text) + '\n';
    }
  }
  return lines;
}

}  // namespace hearth::cli
