#include "isolate/resource_limits.h"

#include "isolate/failure.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

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
  // core_pattern may name a program of the host, which the kernel starts as root. Not if this is 1.
  if (!lower(RLIMIT_CORE, 1, 1)) return fail("forbid core dumps");
  // Processes are limited by the cgroup: RLIMIT_NPROC is per user, not per sandbox.
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

}  // namespace hearth::isolate
