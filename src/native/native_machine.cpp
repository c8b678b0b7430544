#include "native/native_machine.h"

#include "base/joined.h"
#include "base/log.h"
#include "native/machine_facts.h"
#include "native/observed_process.h"
#include "os/in_container.h"
#include "seccomp/compile_filter.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace hearth::native {
namespace {

std::string in_words(const std::vector<std::string>& missing, CannotSandbox::Remedy remedy) {
  return "sandboxes cannot be made safe here: " + joined(missing, "; ") +
         " (`hearth doctor` says what to do" +
         (remedy == CannotSandbox::Remedy::none
              ? ")"
              : "; --allow-degraded, or native.allow_degraded, accepts it)");
}

std::optional<CgroupMounts::Version> version_of(const std::unique_ptr<CgroupTree>& cgroups) {
  return cgroups ? std::optional(own_cgroup_mounts().version) : std::nullopt;
}

// RLIMIT_NPROC is of a user in a user namespace since this version; before, of a user everywhere.
bool counts_processes_by_namespace() {
  utsname names{};
  return ::uname(&names) == 0 && !is_older(names.release, 5, 14);
}

std::unique_ptr<CgroupTree> open_cgroups(NativeMachine& machine,
                                         const NativeMachineOptions& options) try {
  return std::make_unique<CgroupTree>(own_cgroup_mounts());
} catch (const Error& error) {
  std::string why = error.what();
  if (os::runs_in_container())
    why += "; in a container: " + container_cgroup_flags(own_cgroup_mounts().version);
  if (options.limits == Limits::strict) {
    machine.degraded.push_back("no limits on memory, processes and CPU (" + why + ")");
  } else {
    // The caller is told by each sandbox.
    log::info("limits are of processes, not of sandboxes", {{"reason", why}});
  }
  return nullptr;
}

}  // namespace

CannotSandbox::CannotSandbox(std::vector<std::string> what, Remedy remedy)
    : BackendUnavailable(in_words(what, remedy)), missing(std::move(what)) {}

std::shared_ptr<const NativeMachine> open_native_machine(const NativeMachineOptions& options) {
  auto machine = std::make_shared<NativeMachine>();
  machine->programs = backend::find_programs(options.programs);
  machine->ready_limit = options.ready_limit;
  machine->seccomp_filter = seccomp::compile_filter(seccomp::sandbox_rules());
  machine->zygote_filter = seccomp::compile_filter(seccomp::zygote_rules());
  machine->zygotes = options.zygotes;
  machine->use_large_pages = options.use_large_pages;
  machine->load_limit = options.load_limit;
  machine->own_namespaces = observe_process(::getpid()).namespaces;
  machine->cgroups = open_cgroups(*machine, options);
  machine->limits_processes = counts_processes_by_namespace();
  machine->users = claim_users(version_of(machine->cgroups));
  if (machine->users.claim) machine->free_uids = std::make_shared<UidPool>(*machine->users.uids);
  // Version 1 forbids every rename between directories.
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 2) {
    machine->use_landlock = false;
    machine->degraded.emplace_back(
        "no Landlock (Linux 5.19 or newer with landlock among its LSMs)");
  }
  if (!machine->degraded.empty() && !options.allow_degraded) throw CannotSandbox(machine->degraded);
  for (const std::string& what : machine->degraded)
    log::warning("sandboxes are weaker than they should be", {{"missing", what}});
  return machine;
}

}  // namespace hearth::native
