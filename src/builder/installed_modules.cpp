#include "builder/installed_modules.h"

#include "os/program_environment.h"
#include "os/run_program.h"

#include <chrono>
#include <sstream>

namespace hearth::builder {
namespace {

// Without -S, Python itself would execute .pth files.
constexpr const char* question = R"(
import sys, site
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
path = sys.path + site.getsitepackages()
for module in sys.argv[1:]:
    first = module.partition(".")[0]
    found = BuiltinImporter.find_spec(first) or FrozenImporter.find_spec(first)
    if not found and not PathFinder.find_spec(first, path):
        print(module)
)";

}  // namespace

std::vector<std::string> missing_modules(const Python& python,
                                         const std::vector<std::string>& modules) {
  std::vector<std::string> missing;
  if (modules.empty()) return missing;
  std::vector<std::string> arguments{"-I", "-S", "-c", question};
  arguments.insert(arguments.end(), modules.begin(), modules.end());
  try {
    const os::ProgramResult result = os::run_program({.program = python.executable,
                                                      .arguments = std::move(arguments),
                                                      .timeout = std::chrono::seconds(20),
                                                      .environment = os::program_environment(),
                                                      .directory = "/"});
    if (!result.succeeded()) return missing;
    std::istringstream answer(result.output);
    for (std::string module; std::getline(answer, module);) missing.push_back(module);
  } catch (const OsError&) {
    // The interpreter was removed meanwhile: nothing is known.
  }
  return missing;
}

}  // namespace hearth::builder
