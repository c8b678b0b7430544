// What this machine offers for sandboxes, and the refusal to go on without.
#include "base/log.h"
#include "native/machine_facts.h"
#include "native/native_source.h"
#include "native/posture.h"
#include "os/in_container.h"
#include "seccomp/compile_filter.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::native {
namespace {

std::string in_words(const std::vector<std::string>& missing, CannotSandbox::Remedy remedy) {
  std::string text = "sandboxes cannot be made safe here: ";
  for (std::size_t i = 0; i < missing.size(); ++i) text += (i == 0 ? "" : "; ") + missing[i];
  text += " (`hearth doctor` says what to do";
  return text + (remedy == CannotSandbox::Remedy::none ? ")" : "; allow_degraded accepts it)");
}

std::optional<CgroupMounts::Version> version_of(const std::unique_ptr<CgroupTree>& cgroups) {
  return cgroups ? std::optional(own_cgroup_mounts().version) : std::nullopt;
}

}  // namespace

CannotSandbox::CannotSandbox(std::vector<std::string> what, Remedy remedy)
    : Error(in_words(what, remedy)), missing(std::move(what)) {}

std::shared_ptr<const NativeMachine> open_native_machine(const NativeMachineOptions& options) {
  auto host = std::make_shared<NativeMachine>();
  host->programs = backend::find_programs(options.programs);
  host->ready_limit = options.ready_limit;
  host->seccomp_filter = seccomp::compile_filter(seccomp::sandbox_rules());
  host->zygote_filter = seccomp::compile_filter(seccomp::zygote_rules());
  host->zygotes = options.zygotes;
  host->load_limit = options.load_limit;
  host->own_namespaces = observe_process(::getpid()).namespaces;
  try {
    host->cgroups = std::make_unique<CgroupTree>(own_cgroup_mounts());
  } catch (const Error& error) {
    std::string why = error.what();
    if (os::runs_in_container())
      why += "; in a container: " + container_cgroup_flags(own_cgroup_mounts().version);
    host->degraded.push_back("no limits on memory, processes and CPU (" + why + ")");
  }
  host->users = claim_users(version_of(host->cgroups));
  if (host->users.claim) host->free_uids = std::make_shared<UidPool>(*host->users.uids);
  // Version 1 forbids every rename between directories.
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 2) {
    host->use_landlock = false;
    host->degraded.emplace_back("no Landlock (Linux 5.19 or newer with landlock among its LSMs)");
  }
  if (!host->degraded.empty() && !options.allow_degraded) throw CannotSandbox(host->degraded);
  for (const std::string& what : host->degraded)
    log::warning("sandboxes are weaker than they should be", {{"missing", what}});
  return host;
}

}  // namespace hearth::native
