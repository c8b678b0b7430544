#include "native/cgroup_files.h"

#include "base/error.h"
#include "base/log.h"
#include "os/read_file.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

namespace hearth::native {

namespace fs = std::filesystem;

void write_value(const fs::path& file, const std::string& value) {
  const os::UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    throw OsError("write \"" + value + "\" to " + file.string());
}

std::string read_value(const fs::path& file) try {
  return os::read_file(file, std::size_t{1} << 20);
} catch (const Error&) {
  return {};
}

// The last process may be on its way out for a moment longer than its parent knew.
void remove_directory(const fs::path& path) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return;
    if (errno != EBUSY) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  log::warning("a cgroup could not be removed",
               {{"path", path.string()}, {"error", std::strerror(errno)}});
}

}  // namespace hearth::native
