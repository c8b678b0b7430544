#include "isolate/landlock.h"

#include "isolate/failure.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

namespace hearth::isolate {
namespace {

using Rights = std::uint64_t;

// Newer than the headers of Debian 12.
constexpr Rights truncate_right = 1ULL << 14;                // version 3 of Landlock
constexpr Rights device_ioctl_right = 1ULL << 15;            // version 5
constexpr std::uint64_t scope_abstract_sockets = 1ULL << 0;  // version 6
constexpr std::uint64_t scope_signals = 1ULL << 1;
struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};

constexpr Rights content_rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                  LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                  LANDLOCK_ACCESS_FS_REFER | truncate_right;
constexpr Rights device_rights =
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | device_ioctl_right;
constexpr Rights file_rights = LANDLOCK_ACCESS_FS_WRITE_FILE | truncate_right;

constexpr int first_with_scopes = 6;

int landlock_version() {
  return static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

Rights known_rights(int version) {
  Rights rights = content_rights | device_rights;
  if (version < 3) rights &= ~truncate_right;
  if (version < 5) rights &= ~device_ioctl_right;
  return rights;
}

bool allow(int ruleset, const char* path, Rights rights) {
  const int fd = ::open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISDIR(info.st_mode)) rights &= file_rights;
  const landlock_path_beneath_attr rule{rights, fd};
  const bool added =
      ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  ::close(fd);
  return added;
}

bool add_rules(int ruleset, const HearthSandboxSpec& spec, Rights known) {
  for (const char* path : {"/workspace", "/tmp", "/dev/shm"})
    if (!allow(ruleset, path, content_rights & known)) return false;
  for (const char* const* path = spec.writable_paths; *path != nullptr; ++path)
    if (!allow(ruleset, *path, content_rights & known)) return false;
  return allow(ruleset, "/dev", (file_rights | device_ioctl_right) & known);
}

}  // namespace

// Mounts already make everything but the scratch directories read-only. This holds even if a mount
// is wrong. Reading is not limited: all that is visible may be read. There is no rule for /proc,
// where a process could lower its out-of-memory score. Links like /dev/stdout lead to a pipe or a
// file, and the rule of that file counts.
bool restrict_files(const HearthSandboxSpec& spec) {
  if (spec.use_landlock == 0) return true;
  const int version = landlock_version();
  // Version 1 forbids all renames between directories.
  if (version < 2) return fail("use Landlock");
  const Rights known = known_rights(version);
  const RulesetAttributes attributes{known, 0, scope_abstract_sockets};
  const std::size_t size = version >= first_with_scopes ? sizeof attributes : sizeof(Rights);
  const int ruleset =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) return fail("make a Landlock ruleset");
  const bool restricted =
      add_rules(ruleset, spec, known) && ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(ruleset);
  return restricted || fail("apply the Landlock ruleset");
}

bool restrict_signals(const HearthSandboxSpec& spec) {
  if (spec.use_landlock == 0 || landlock_version() < first_with_scopes) return true;
  // Every layer that does not allow renames between directories forbids them.
  const RulesetAttributes attributes{LANDLOCK_ACCESS_FS_REFER, 0, scope_signals};
  const int ruleset =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (ruleset < 0) return fail("make a Landlock ruleset for signals");
  const bool restricted = allow(ruleset, "/", LANDLOCK_ACCESS_FS_REFER) &&
                          ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(ruleset);
  return restricted || fail("apply the Landlock ruleset for signals");
}

}  // namespace hearth::isolate
