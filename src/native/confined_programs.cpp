#include "native/confined_programs.h"

#include "base/error.h"
#include "base/log.h"
#include "native/shown_system.h"
#include "seccomp/compile_filter.h"
#include "seccomp/rules.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

// As the programs see themselves.
constexpr uid_t inside_uid = 1000;
constexpr std::uint64_t scratch_mb = 1024;  // of memory, and counted as such

CgroupLimits group_limits(const ConfinedLimits& limits) {
  const std::uint64_t bytes = limits.memory_mb << 20;
  return {.memory_bytes = bytes,
          .pids = limits.processes,
          .cpu_cores = static_cast<double>(std::max(1U, std::thread::hardware_concurrency()))};
}

void show_network(LauncherWords& words, const Machine& machine) {
  for (const std::string path : {"/etc/hosts", "/etc/resolv.conf"})
    if (machine.exists(path)) words.show(path);
  words.add({"--file", "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"});
  words.add({"--share-net"});
}

}  // namespace

ConfinedPrograms::ConfinedPrograms(const backend::Programs& programs, const ConfinedLimits& limits)
    : programs_(programs),
      limits_(limits),
      filter_(seccomp::compile_filter(seccomp::build_rules())) {
  try {
    groups_ = std::make_unique<CgroupTree>(own_cgroup_mounts());
    group_ = groups_->take(group_limits(limits));
    group_->enter(Cgroup::Phase::ready);
  } catch (const Error& error) {
    log::info("build is limited by process, not by cgroup", {{"reason", error.what()}});
  }
  users_ = claim_users(group_ ? std::optional(own_cgroup_mounts().version) : std::nullopt);
}

std::optional<uid_t> ConfinedPrograms::user() const {
  if (!users_.uids) return std::nullopt;
  return users_.uids->first + (users_.claim ? inside_uid : 0);
}

void ConfinedPrograms::give(const fs::path& path) const {
  const std::optional<uid_t> uid = user();
  if (uid && ::lchown(path.c_str(), *uid, *uid) != 0)
    throw OsError("give " + path.string() + " to the user of a build");
}

std::vector<std::string> ConfinedPrograms::words(const os::ProgramRequest& request,
                                                 const Place& place) const {
  const Machine machine = this_machine();
  LauncherWords words;
  if (const std::optional<UidRange>& uids = users_.uids)
    words.add({"--uids", std::to_string(uids->first), std::to_string(uids->count)});
  for (const char* path : {"/tmp", "/dev/shm"})
    words.add({"--scratch", path, std::to_string(scratch_mb)});
  show_system(words, machine);
  if (place.has_network) show_network(words, machine);
  words.add({"--dev"});
  show_python(words, machine, request.program);
  for (const fs::path& path : place.shown) words.show(path);
  // The last: what they can write to must not lead the launcher elsewhere.
  words.add({"--bind", place.writable.string(), writable_inside});
  words.add({"--user", std::to_string(inside_uid), "--file-mb", std::to_string(limits_.file_mb)});
  if (!group_) words.add({"--memory-mb", std::to_string(limits_.memory_mb)});
  if (place.is_alone || !group_)
    words.add({"--processes", place.is_alone ? "1" : std::to_string(limits_.processes)});
  // Not the variables as words, which every user of the machine could read.
  words.add({"--keep-env"});
  return words.take();
}

os::ProgramResult ConfinedPrograms::run(os::ProgramRequest request, const Place& place) const {
  std::vector<std::string> arguments = words(request, place);
  const auto pass = [&](const char* option, int fd) {
    const std::size_t number = os::ProgramRequest::first_passed_fd + request.passed_fds.size();
    arguments.insert(arguments.end(), {option, std::to_string(number)});
    request.passed_fds.push_back(fd);
  };
  const os::UniqueFd filter(
      ::open(("/proc/self/fd/" + std::to_string(filter_.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!filter) throw OsError("open the seccomp filter");
  pass("--seccomp-fd", filter.get());
  std::vector<os::UniqueFd> joining;
  if (group_) joining = group_->open_for_joining();
  for (const os::UniqueFd& fd : joining) pass("--cgroup-fd", fd.get());
  arguments.insert(arguments.end(), {"--", request.program});
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  request.program = programs_.launcher;
  request.arguments = std::move(arguments);
  request.ends_with_caller = true;
  return os::run_program(request);
}

}  // namespace hearth::native
