#include "init/process_scope.h"

#include "os/unique_fd.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace hearth::init {
namespace {

// Newer than the headers of Debian 12.
constexpr std::uint64_t scope_signals = 1ULL << 1;  // version 6 of Landlock
struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};
constexpr long first_with_renames = 2;
constexpr long first_with_scopes = 6;

}  // namespace

// Any ruleset forbids tracing processes outside of it. It must handle some access to files: renames
// between directories, which every layer that does not allow them forbids.
void enter_process_scope() {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < first_with_renames) return;
  const RulesetAttributes attributes{LANDLOCK_ACCESS_FS_REFER, 0, scope_signals};
  const std::size_t size = version < first_with_scopes ? sizeof(std::uint64_t) : sizeof attributes;
  const os::UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  const os::UniqueFd root(::open("/", O_PATH | O_CLOEXEC));
  const landlock_path_beneath_attr everywhere{LANDLOCK_ACCESS_FS_REFER, root.get()};
  if (::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &everywhere, 0) ==
      0)
    ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0);
}

}  // namespace hearth::init
