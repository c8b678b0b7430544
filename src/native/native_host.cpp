// What this machine offers for sandboxes, and the refusal to go on without.
#include "base/log.h"
#include "native/native_source.h"
#include "native/posture.h"
#include "seccomp/compile_filter.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::native {
namespace {

std::string in_words(const std::vector<std::string>& missing) {
  std::string text = "sandboxes cannot be made safe here: ";
  for (std::size_t i = 0; i < missing.size(); ++i) text += (i == 0 ? "" : "; ") + missing[i];
  return text + " (`hearth doctor` says what to do; allow_degraded accepts it)";
}

}  // namespace

CannotSandbox::CannotSandbox(std::vector<std::string> what)
    : Error(in_words(what)), missing(std::move(what)) {}

std::shared_ptr<const NativeHost> open_native_host(const NativeHostOptions& options) {
  auto host = std::make_shared<NativeHost>();
  host->programs = backend::find_programs(options.programs);
  host->ready_limit = options.ready_limit;
  host->seccomp_filter = seccomp::compile_filter();
  host->own_namespaces = observe_process(::getpid()).namespaces;
  if (::geteuid() == 0) {
    host->uids.emplace();
    host->free_uids = std::make_shared<UidPool>(host->uids->range());
  }
  try {
    host->cgroups = std::make_unique<CgroupTree>(own_cgroup_mounts());
  } catch (const Error& error) {
    host->degraded.push_back(std::string("no limits on memory, processes and CPU (") +
                             error.what() + ")");
  }
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
