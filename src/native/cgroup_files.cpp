#include "native/cgroup_files.h"

#include "base/error.h"
#include "base/log.h"
#include "native/pidfd.h"
#include "os/read_file.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <sstream>
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

std::vector<pid_t> processes_of(const fs::path& group) {
  std::vector<pid_t> pids;
  std::istringstream list(read_value(group / "cgroup.procs"));
  // 0 is a process of another pid namespace.
  for (pid_t pid = 0; list >> pid;)
    if (pid > 0) pids.push_back(pid);
  return pids;
}

void kill_processes_of(const fs::path& group) {
  // One write where the kernel has it (5.14, in trees of version 2).
  if (const os::UniqueFd kill_file(::open((group / "cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
      kill_file && ::write(kill_file.get(), "1", 1) == 1)
    return;
  std::map<pid_t, os::UniqueFd> handles;
  for (const pid_t pid : processes_of(group))
    handles.emplace(pid, static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // A second look: a pid that was reused outside the group before it was opened is no longer
  // listed.
  for (const pid_t pid : processes_of(group))
    if (const auto found = handles.find(pid); found != handles.end() && found->second)
      kill_process(found->second.get());
}

std::uint64_t value_of(const std::string& text, std::string_view key) {
  std::istringstream stream(text);
  std::uint64_t value = 0;
  for (std::string word; stream >> word >> value;)
    if (word == key) return value;
  return 0;
}

std::uint64_t cached_bytes(const fs::path& group) {
  const std::string stat = read_value(group / "memory.stat");
  const std::uint64_t files = value_of(stat, "cache") + value_of(stat, "file");  // v1 or v2
  return files - std::min(files, value_of(stat, "shmem"));
}

void drop_cache(const fs::path& group) {
  if (cached_bytes(group) == 0) return;
  std::error_code ignored;
  try {
    if (fs::exists(group / "memory.force_empty", ignored)) {
      write_value(group / "memory.force_empty", "0");
    } else {
      // Since Linux 5.19. All there is: it fails with EAGAIN when less was reclaimed.
      write_value(group / "memory.reclaim", read_value(group / "memory.current"));
    }
  } catch (const OsError& error) {
    log::debug("page cache of a cgroup could not be reclaimed", {{"error", error.what()}});
  }
}

// The last process may be on its way out for a moment longer than its parent knew.
void remove_directory(const fs::path& path) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return;
    if (errno != EBUSY) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  log::warning("cgroup could not be removed",
               {{"path", path.string()}, {"error", std::strerror(errno)}});
}

}  // namespace hearth::native
