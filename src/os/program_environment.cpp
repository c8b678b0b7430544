#include "os/program_environment.h"

#include "os/trusted_path.h"

#include <unistd.h>

#include <sstream>

namespace hearth::os {
namespace {

bool runs_further_code(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return name.starts_with("LD_") || name.starts_with("PYTHON") || name == "ENV" ||
         name == "BASH_ENV";
}

}  // namespace

std::string trusted_search_path(std::string_view search_path) {
  if (::geteuid() != 0) return std::string(search_path);
  std::string trusted;
  std::istringstream entries{std::string(search_path)};
  for (std::string entry; std::getline(entries, entry, ':');) {
    if (!entry.starts_with('/') || distrust_of(entry)) continue;
    trusted += (trusted.empty() ? "" : ":") + entry;
  }
  return trusted;
}

std::vector<std::string> program_environment() {
  constexpr std::string_view path = "PATH=";
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with(path)) {
      variables.push_back(std::string(path) + trusted_search_path(text.substr(path.size())));
    } else if (!runs_further_code(text)) {
      variables.emplace_back(text);
    }
  }
  return variables;
}

}  // namespace hearth::os
