#include "init/command_plan.h"

#include "base/error.h"
#include "base/language.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <vector>

namespace hearth::init {
namespace {

constexpr const char* workspace = "/workspace";

const Language& language_named(const std::string& name) {
  const Language* language = find_language(name);
  if (language == nullptr || language->interpreter.empty())
    throw Error("no interpreter for the language \"" + name + '"');
  return *language;
}

std::vector<std::string> words_of(const wire::ExecRequest& request) {
  std::vector<std::string> words;
  if (!request.shell.empty()) {
    const bool has_bash = ::access("/bin/bash", X_OK) == 0;
    words = {has_bash ? "/bin/bash" : "/bin/sh", "-c", request.shell};
    if (!request.argv.empty()) words.emplace_back(has_bash ? "bash" : "sh");
  } else if (!request.language.empty()) {
    const Language& language = language_named(request.language);
    words.assign(language.interpreter.begin(), language.interpreter.end());
  }
  words.insert(words.end(), request.argv.begin(), request.argv.end());
  return words;
}

std::vector<std::string> environment_of(const wire::ExecRequest& request,
                                        const std::string& packages) {
  std::map<std::string, std::string> env = request.env;
  if (request.terminal) env.try_emplace("TERM", "xterm-256color");
  if (!packages.empty()) env.try_emplace("PYTHONPATH", packages);
  std::vector<std::string> environment;
  for (const auto& [name, value] : env) {
    std::string& line = environment.emplace_back(name);
    line += '=';
    line += value;
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view line = *variable;
    if (!env.contains(std::string(line.substr(0, line.find('='))))) environment.emplace_back(line);
  }
  return environment;
}

std::string directory_of(const wire::ExecRequest& request) {
  if (request.directory.empty()) return workspace;
  if (request.directory.starts_with('/')) return request.directory;
  return std::string(workspace) + '/' + request.directory;
}

}  // namespace

CommandPlan plan_command(const wire::ExecRequest& request, const std::string& packages) {
  return {words_of(request), environment_of(request, packages), directory_of(request)};
}

os::UniqueFd script_file(const wire::ExecRequest& request) {
  if (request.language.empty()) return {};
  os::UniqueFd file(::memfd_create("script", MFD_CLOEXEC));
  if (!file) throw OsError("make a file for the script");
  for (std::string_view rest = request.script; !rest.empty();) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0) throw OsError("write the script");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

}  // namespace hearth::init
