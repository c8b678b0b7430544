#include "backend/programs.h"

#include "base/error.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace hearth::backend {
namespace {

namespace fs = std::filesystem;

// A place that somebody named is the only one: a slip must not end in programs of another version.
std::vector<fs::path> places(const fs::path& named) {
  const char* variable = std::getenv("HEARTH_LIBEXEC");
  if (variable != nullptr && *variable != '\0') return {variable};
  if (!named.empty()) return {named};
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path();
  return {beside, (beside / HEARTH_LIBEXEC_FROM_BIN).lexically_normal()};
}

fs::path first_with(const std::string& name, const std::vector<fs::path>& directories) {
  std::string tried;
  for (const fs::path& directory : directories) {
    if (fs::exists(directory / name)) return fs::absolute(directory);
    tried += (tried.empty() ? "" : " and not in ") + directory.string();
  }
  throw Error(name + " is missing: it is not in " + tried +
              " (HEARTH_LIBEXEC can name the directory of Hearth's programs)");
}

}  // namespace

Programs find_programs(const fs::path& named) {
  const fs::path directory = first_with("hearth-launcher", places(named));
  for (const char* name : {"hearth-init", "libhearth-isolate.so", "executor_harness.py"})
    first_with(name, {directory});
  return {directory / "hearth-launcher", directory / "hearth-init",
          directory / "libhearth-isolate.so", directory / "executor_harness.py"};
}

}  // namespace hearth::backend
