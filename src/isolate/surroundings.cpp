// Cgroup, namespaces and limits: everything but files and network.
#include "isolate/steps.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fcntl.h>

namespace hearth::isolate {

bool join_cgroups(const HearthSandboxSpec& spec) {
  for (std::uint64_t i = 0; i < spec.cgroup_count; ++i)
    if (::write(spec.cgroup_fds[i], "0", 1) != 1) return fail("join the cgroup");
  return true;
}

bool enter_namespaces() {
  if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) != 0)
    return fail("create namespaces");
  constexpr char name[] = "sandbox";
  return ::sethostname(name, sizeof name - 1) == 0 || fail("set the host's name");
}

bool join_namespaces(const HearthSandboxSpec& spec) {
  return ::setns(spec.joined,
                 CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) == 0 ||
         fail("join the sandbox's namespaces");
}

bool close_all_but(std::initializer_list<std::int32_t> kept) {
  constexpr unsigned first_after_standard = 3;
  unsigned first = first_after_standard;
  while (true) {
    unsigned next = ~0U;
    for (const std::int32_t fd : kept)
      if (const auto one = static_cast<unsigned>(fd); one >= first && one < next) next = one;
    const unsigned last = next == ~0U ? next : next - 1;
    if (next > first && ::close_range(first, last, 0) != 0)
      return fail("close what the zygote has open");
    if (next == ~0U) return true;
    first = next + 1;
  }
}

namespace {

// Never more than there may be already: who starts the host decides that.
bool lower(__rlimit_resource_t resource, std::uint64_t soft, std::uint64_t hard) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return false;
  if (limit.rlim_max > hard) limit.rlim_max = hard;
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  return ::setrlimit(resource, &limit) == 0;
}

}  // namespace

bool limit_files(std::uint64_t soft, std::uint64_t hard) {
  return lower(RLIMIT_NOFILE, soft, hard) || fail("limit open files");
}

bool set_limits(const HearthSandboxSpec& spec) {
  struct Limit {
    __rlimit_resource_t resource;
    rlim_t most;
  };
  // Init takes the larger one, workers give it up.
  if (!limit_files(worker_files, init_files)) return false;
  if (!lower(RLIMIT_FSIZE, spec.file_bytes, spec.file_bytes))
    return fail("limit the size of files");
  // core_pattern may name a program of the host, which the kernel starts as root: not with 1.
  if (!lower(RLIMIT_CORE, 1, 1)) return fail("forbid core dumps");
  // Processes are counted by the cgroup: RLIMIT_NPROC is per user, and not per sandbox.
  const Limit limits[] = {
      {RLIMIT_MEMLOCK, 64 << 10}, {RLIMIT_SIGPENDING, 1024},
      {RLIMIT_MSGQUEUE, 0},  // POSIX queues outlive processes, and nobody here can list them
      {RLIMIT_RTPRIO, 0},         {RLIMIT_NICE, 0},
  };
  for (const Limit& limit : limits) {
    const rlimit value{limit.most, limit.most};
    if (::setrlimit(limit.resource, &value) != 0) return fail("set resource limits");
  }
  // When the machine runs out of memory, sandboxes are the first to go.
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  const bool written = score >= 0 && ::write(score, "500", 3) == 3;
  if (score >= 0) ::close(score);
  return written || fail("set the out-of-memory score");
}

}  // namespace hearth::isolate
