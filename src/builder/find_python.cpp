#include "builder/find_python.h"

#include "backend/layout.h"
#include "os/program_environment.h"
#include "os/run_program.h"
#include "os/trusted_path.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* question = R"(
import sys
from importlib.machinery import EXTENSION_SUFFIXES
print(sys.executable)
print(sys.version.split()[0])
print(EXTENSION_SUFFIXES[0])
)";

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string message_of(std::string_view wanted, const std::vector<std::string>& existing,
                       const std::vector<std::string>& passed_over) {
  std::string text = "there is no Python " + std::string(wanted) + " on this machine; ";
  text += existing.empty() ? "there is no Python 3 at all" : "there are " + joined(existing, ", ");
  if (!passed_over.empty()) text += "; not run as root: " + joined(passed_over, "; ");
  return text;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// A release, of CPython, with its usual ABI: `.cpython-311-x86_64-linux-gnu.so`. A `t`
// (free-threaded) or `d` (debug) would follow the digits.
bool is_ordinary(const Python& python) {
  constexpr std::string_view start = ".cpython-";
  const bool is_release = python.version.find_first_not_of("0123456789.") == std::string::npos;
  if (!is_release || !python.abi.starts_with(start)) return false;
  const std::size_t after = python.abi.find_first_not_of("0123456789", start.size());
  return after != std::string::npos && python.abi[after] == '-';
}

bool is_python_name(const std::string& name) {
  return name == "python" || name == "python3" ||
         (name.starts_with("python3.") && name.size() > 8 &&
          std::all_of(name.begin() + 8, name.end(),
                      [](char c) { return is_digit(c) || c == 't'; }));
}

// Every program in `directory` that may be a Python 3 by its name, each once.
std::vector<fs::path> programs_in(const fs::path& directory) {
  std::vector<fs::path> programs;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; entry != end && !failed;
       entry.increment(failed)) {
    if (is_python_name(entry->path().filename())) programs.push_back(entry->path());
  }
  std::sort(programs.rbegin(), programs.rend());  // python3.11 before python3 before python
  return programs;
}

void add_matching(std::vector<fs::path>& directories, const fs::path& parent,
                  std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(parent, failed), end; entry != end && !failed;
       entry.increment(failed)) {
    if (entry->path().filename().string().starts_with(prefix))
      found.push_back(entry->path() / "bin");
  }
  std::sort(found.rbegin(), found.rend());
  directories.insert(directories.end(), found.begin(), found.end());
}

// Asks each program once, however many names it has.
class Census {
 public:
  void ask(const fs::path& program) {
    std::error_code failed;
    fs::path real = fs::canonical(program, failed);
    if (failed) return;
    // Some version managers have one program behind every name, which looks at how it was called.
    if (!real.filename().string().starts_with("python")) real = program;
    if (!asked_.insert(std::move(real)).second) return;
    auto reason = os::distrust_of_found_program(program);
    if (!reason) reason = os::distrust_of_python(program);
    if (reason) {
      passed_over_.push_back(program.string() + " (" + reason->what() + ')');
      return;
    }
    std::optional<Python> python = ask_python(program);
    if (!python) return;
    asked_.insert(python->executable);
    if (std::find(found_.begin(), found_.end(), *python) == found_.end())
      found_.push_back(std::move(*python));
  }
  const std::vector<Python>& found() const { return found_; }
  const std::vector<std::string>& passed_over() const { return passed_over_; }

 private:
  std::set<fs::path> asked_;
  std::vector<Python> found_;
  std::vector<std::string> passed_over_;
};

std::string minor_of(std::string_view version) {
  const std::size_t first = version.find('.');
  return std::string(version.substr(0, version.find('.', first + 1)));
}

}  // namespace

PythonNotFound::PythonNotFound(std::string_view version, std::vector<std::string> found,
                               const std::vector<std::string>& passed_over)
    : BuildError(message_of(version, found, passed_over), ""),
      wanted(version),
      existing(std::move(found)) {}

std::vector<fs::path> usual_python_directories() {
  std::vector<fs::path> directories;
  const char* path = std::getenv("PATH");
  std::istringstream entries(path == nullptr ? "" : path);
  for (std::string entry; std::getline(entries, entry, ':');) {
    if (entry.starts_with('/')) directories.emplace_back(entry);
  }
  directories.insert(directories.end(), {"/usr/bin", "/usr/local/bin"});
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    add_matching(directories, fs::path(home) / ".pyenv/versions", "");
  add_matching(directories, "/opt", "python");
  return directories;
}

namespace {

bool is_in_virtual_environment(const fs::path& executable) {
  const fs::path beside = executable.parent_path();
  std::error_code failed;
  return fs::exists(beside / "pyvenv.cfg", failed) ||
         fs::exists(beside.parent_path() / "pyvenv.cfg", failed);
}

// What it says of itself. The executable is as the program names it.
std::optional<Python> answer_of(const fs::path& program) {
  os::ProgramResult result;
  try {
    result = os::run_program({.program = program,
                              .arguments = {"-I", "-S", "-c", question},
                              .timeout = std::chrono::seconds(20),
                              .environment = os::program_environment(),
                              // A version manager's shim obeys files of the directory it is in.
                              .directory = "/"});
  } catch (const OsError&) {
    return std::nullopt;  // not executable, or not for this machine
  }
  if (!result.succeeded()) return std::nullopt;
  std::istringstream answer(result.output);
  std::string executable;
  Python python;
  std::getline(answer, executable);
  std::getline(answer, python.version);
  std::getline(answer, python.abi);
  python.executable = executable;
  if (python.version.empty() || !python.executable.is_absolute()) return std::nullopt;
  return python;
}

// Root does not import what another user could have written.
std::optional<os::UntrustedPath> distrust_of_packages(const Python& python) try {
  if (::geteuid() != 0 || !is_in_virtual_environment(python.executable)) return std::nullopt;
  const fs::path environment = python.executable.parent_path().parent_path();
  const fs::path packages =
      environment / "lib" / ("python" + minor_of(python.version)) / "site-packages";
  std::error_code failed;
  if (fs::exists(packages, failed)) os::require_trusted_files(packages);
  return std::nullopt;
} catch (const os::UntrustedPath& reason) {
  return reason;
}

}  // namespace

std::optional<Python> ask_python(const fs::path& program) {
  if (os::distrust_of_python(program)) return std::nullopt;
  std::optional<Python> python = answer_of(program);
  if (!python) return std::nullopt;
  std::error_code failed;
  python->executable = fs::canonical(python->executable, failed);
  if (failed || os::distrust_of_python(python->executable)) return std::nullopt;
  return python;
}

std::optional<Python> ask_meant_python(const fs::path& program) {
  if (auto reason = os::distrust_of_python(program)) throw os::UntrustedPath(*reason);
  std::optional<Python> python = answer_of(program);
  if (!python) return std::nullopt;
  const fs::path named = python->executable;
  std::error_code failed;
  python->executable = is_in_virtual_environment(named)
                           ? fs::canonical(named.parent_path(), failed) / named.filename()
                           : fs::canonical(named, failed);
  if (failed) return std::nullopt;
  if (auto reason = os::distrust_of_python(python->executable)) throw os::UntrustedPath(*reason);
  if (auto reason = distrust_of_packages(*python)) throw os::UntrustedPath(*reason);
  return python;
}

bool is_visible(const fs::path& executable) {
  for (const char* own : {backend::layout::temporary, backend::layout::workspace})
    if (executable.string().starts_with(std::string(own) + '/')) return false;
  return true;
}

UsualPython find_usual_python() {
  const auto value = [](const char* name) {
    const char* found = std::getenv(name);
    return std::string(found == nullptr ? "" : found);
  };
  std::vector<fs::path> directories;
  if (const std::string active = value("VIRTUAL_ENV"); active.starts_with('/'))
    directories.push_back(fs::path(active) / "bin");
  std::istringstream entries(value("PATH"));
  for (std::string entry; std::getline(entries, entry, ':');)
    if (entry.starts_with('/')) directories.emplace_back(entry);
  directories.emplace_back("/usr/bin");
  UsualPython usual;
  for (const fs::path& directory : directories) try {
      const fs::path program = directory / "python3";
      if (::access(program.c_str(), X_OK) != 0) continue;
      if (auto reason = os::distrust_of_found_program(program)) throw os::UntrustedPath(*reason);
      usual.python = ask_meant_python(program);
      if (usual.python && is_visible(usual.python->executable)) break;
      if (usual.python) usual.passed_over.push_back(program.string() + ' ' + invisible_words);
      usual.python.reset();
    } catch (const os::UntrustedPath& reason) {
      usual.passed_over.push_back((directory / "python3").string() + " (" + reason.what() + ')');
    }
  return usual;
}

bool is_version(std::string_view version, std::string_view wanted) {
  return version == wanted ||
         (version.starts_with(wanted) && version.substr(wanted.size()).starts_with('.'));
}

const Python* choose_python(const std::vector<Python>& found, std::string_view wanted) {
  const Python* second_best = nullptr;
  for (const Python& python : found) {
    if (!is_version(python.version, wanted)) continue;
    if (is_ordinary(python)) return &python;
    if (second_best == nullptr) second_best = &python;
  }
  return second_best;
}

Python find_python(std::string_view wanted, const std::vector<fs::path>& directories) {
  Census census;
  for (const fs::path& directory : directories) {
    census.ask(directory / ("python" + minor_of(wanted)));
    const Python* chosen = choose_python(census.found(), wanted);
    if (chosen != nullptr && is_ordinary(*chosen)) return *chosen;  // no later one is better
  }
  for (const fs::path& directory : directories) {
    for (const fs::path& program : programs_in(directory)) census.ask(program);
  }
  if (const Python* chosen = choose_python(census.found(), wanted)) return *chosen;
  std::vector<std::string> existing;
  for (const Python& python : census.found())
    existing.push_back(python.version + " (" + python.executable.string() + ')');
  std::sort(existing.begin(), existing.end());
  throw PythonNotFound(wanted, std::move(existing), census.passed_over());
}

}  // namespace hearth::builder
