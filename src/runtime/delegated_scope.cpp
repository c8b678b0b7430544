#include "runtime/delegated_scope.h"

#include "base/error.h"
#include "base/log.h"
#include "native/cgroup_tree.h"
#include "os/read_file.h"
#include "os/run_program.h"
#include "os/trusted_path.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::runtime {
namespace {

using Words = std::vector<std::string>;

constexpr const char* variable = "HEARTH_SCOPE";

bool is_off(const settings::Env& env) {
  const auto found = env.find(variable);
  return found != env.end() && found->second == "off";
}

bool has_cgroups() try {
  const native::CgroupTree tree(native::own_cgroup_mounts());
  return true;
} catch (const Error&) {
  return false;
}

Words own_arguments() {
  constexpr std::size_t most_bytes = std::size_t{4} << 20;
  Words words;
  std::string word;
  for (const char byte : os::read_file("/proc/self/cmdline", most_bytes)) {
    if (byte != '\0') {
      word += byte;
    } else {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

// The options that this version of systemd-run takes, found out by a scope that is over at once. A
// failure after exec could not be undone. Future versions may expand variables in the command, and
// older ones do not know the option against that.
std::optional<Words> working_options(const std::string& program, const Words& command) {
  // Without a description it is the command line, which systemd writes to the journal.
  const Words usual = {"--user",    "--scope",
                       "--quiet",   "--description=hearth",
                       "--collect", "--property=Delegate=yes"};
  std::vector<Words> choices = {usual};
  if (std::any_of(command.begin(), command.end(),
                  [](const std::string& word) { return word.find('$') != std::string::npos; })) {
    choices.insert(choices.begin(), usual);
    choices.front().emplace_back("--expand-environment=no");
  }
  for (Words& options : choices) {
    Words trial = options;
    trial.insert(trial.end(), {"--", "true"});
    constexpr std::chrono::seconds patience(5);
    if (os::run_program({.program = program, .arguments = trial, .timeout = patience}).succeeded())
      return std::move(options);
  }
  return std::nullopt;
}

void execute(Words words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  throw OsError("execute " + words.front());
}

}  // namespace

void enter_delegated_scope(const settings::Env& env) try {
  if (::geteuid() == 0 || is_off(env) || has_cgroups()) return;
  const std::optional<std::filesystem::path> program = os::find_program("systemd-run");
  if (!program) return;
  Words command = own_arguments();
  command.front() = std::filesystem::read_symlink("/proc/self/exe");
  const std::optional<Words> options = working_options(*program, command);
  if (!options) return;
  if (::setenv(variable, "off", 1) != 0) throw OsError("set a variable");
  Words words = {*program};
  words.insert(words.end(), options->begin(), options->end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  execute(std::move(words));
} catch (const std::exception& error) {
  // Most often there is no systemd. Limits are then degraded, which each verdict says.
  log::debug("no scope of systemd", {{"reason", error.what()}});
}

}  // namespace hearth::runtime
