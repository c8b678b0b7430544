#include "backend/programs.h"

#include "base/error.h"
#include "os/trusted_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace hearth::backend {
namespace {

namespace fs = std::filesystem;

constexpr const char* running_program = "/proc/self/exe";

// The directory that was named, if one was.
fs::path named_place(const fs::path& named) {
  const char* variable = std::getenv("HEARTH_LIBEXEC");
  return variable != nullptr && *variable != '\0' ? fs::path(variable) : named;
}

// A named directory is the only one: a mistake must not select programs of another version.
std::vector<fs::path> places(const fs::path& named) {
  if (!named.empty()) return {named};
  const fs::path beside = fs::read_symlink(running_program).parent_path();
  return {beside, (beside / HEARTH_LIBEXEC_FROM_BIN).lexically_normal()};
}

// The program itself or, of the harness, which is a directory, everything in it.
std::vector<fs::path> files_of(const fs::path& program) {
  std::vector<fs::path> files{program};
  if (!fs::is_directory(program)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(program))
    files.push_back(entry.path());
  return files;
}

bool belongs_to_owner_of_running(const fs::path& file) {
  struct stat facts{};
  struct stat running{};
  if (::lstat(file.c_str(), &facts) != 0 || ::stat(running_program, &running) != 0) return false;
  return facts.st_uid == 0 || facts.st_uid == ::geteuid() || facts.st_uid == running.st_uid;
}

// The same directory makes both doubtful, as when root starts a developer's build: what can
// exchange the one can exchange the other.
bool is_as_good_as_running(const fs::path& file, const os::UntrustedPath& reason) {
  const auto own = os::distrust_of(fs::read_symlink(running_program));
  return own && own->path == reason.path && belongs_to_owner_of_running(file);
}

// Also those beside the running program: in a directory like /tmp, it and they may be of two users.
void require_trusted_program(const fs::path& program) {
  for (const fs::path& file : files_of(program))
    if (const auto reason = os::distrust_of(file); reason && !is_as_good_as_running(file, *reason))
      throw os::UntrustedPath(*reason);
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
  const fs::path directory = first_with("hearth-launcher", places(named_place(named)));
  for (const char* name :
       {"hearth-launcher", "hearth-init", "libhearth-isolate.so", "executor_harness"}) {
    first_with(name, {directory});
    require_trusted_program(directory / name);
  }
  return {directory / "hearth-launcher", directory / "hearth-init",
          directory / "libhearth-isolate.so", directory / "executor_harness"};
}

}  // namespace hearth::backend
