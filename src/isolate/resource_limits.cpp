#include "isolate/resource_limits.h"

#include "isolate/failure.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace hearth::isolate {
namespace {

// Never raises a limit that the host process already has.
bool lower(__rlimit_resource_t resource, std::uint64_t soft, std::uint64_t hard) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return false;
  if (limit.rlim_max > hard) limit.rlim_max = hard;
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  return ::setrlimit(resource, &limit) == 0;
}

// RLIMIT_DATA counts the stack of a thread as a whole, of which it uses little.
constexpr std::uint64_t stack_bytes = std::uint64_t{128} << 20;

// What RLIMIT_DATA counts of this process: the sixth number, in pages. Not with stdio: this process
// may share its memory with the zygote.
bool read_data_bytes(std::uint64_t& bytes) {
  char text[128] = {};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : ::read(file, text, sizeof text - 1);
  if (file >= 0) ::close(file);
  unsigned long pages = 0;
  if (size <= 0 || std::sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1) return false;
  bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return true;
}

// Not the address space: interpreters reserve much more than they use.
bool limit_memory(const HearthSandboxSpec& spec) {
  if (spec.process_memory_bytes == 0) return true;
  std::uint64_t bytes = 0;
  if (!read_data_bytes(bytes)) return false;
  bytes += spec.process_memory_bytes + stack_bytes;
  return lower(RLIMIT_DATA, bytes, bytes);
}

}  // namespace

bool join_cgroups(const HearthSandboxSpec& spec) {
  for (std::uint64_t i = 0; i < spec.cgroup_count; ++i)
    if (::write(spec.cgroup_fds[i], "0", 1) != 1) return fail("join the cgroup");
  return true;
}

bool limit_files(std::uint64_t soft, std::uint64_t hard) {
  return lower(RLIMIT_NOFILE, soft, hard) || fail("limit open files");
}

bool set_limits(const HearthSandboxSpec& spec) {
  struct Limit {
    __rlimit_resource_t resource;
    rlim_t most;
  };
  // Init takes the hard limit, workers lower it.
  if (!limit_files(worker_files, init_files)) return false;
  if (!lower(RLIMIT_FSIZE, spec.file_bytes, spec.file_bytes))
    return fail("limit the size of files");
  if (!limit_memory(spec)) return fail("limit the memory of processes");
  // core_pattern may name a program of the host, which the kernel starts as root. Not if this is 1.
  if (!lower(RLIMIT_CORE, 1, 1)) return fail("forbid core dumps");
  const Limit limits[] = {
      {RLIMIT_MEMLOCK, 64 << 10}, {RLIMIT_SIGPENDING, 1024},
      {RLIMIT_MSGQUEUE, 0},  // POSIX queues outlive processes, and nothing here can list them
      {RLIMIT_RTPRIO, 0},         {RLIMIT_NICE, 0},
  };
  for (const Limit& limit : limits) {
    const rlimit value{limit.most, limit.most};
    if (::setrlimit(limit.resource, &value) != 0) return fail("set resource limits");
  }
  // When the machine runs out of memory, sandboxes are killed first.
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  const bool written = score >= 0 && ::write(score, "500", 3) == 3;
  if (score >= 0) ::close(score);
  return written || fail("set the out-of-memory score");
}

bool limit_processes(const HearthSandboxSpec& spec) {
  return spec.processes == 0 || lower(RLIMIT_NPROC, spec.processes, spec.processes) ||
         fail("limit the number of processes");
}

}  // namespace hearth::isolate
