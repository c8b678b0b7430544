#include "os/user_rights.h"

#include "base/error.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <sstream>

namespace hearth::os {
namespace {

struct CapabilitySets {
  Capabilities effective = 0;
  Capabilities permitted = 0;
  Capabilities inheritable = 0;
};

CapabilitySets own_sets() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) throw OsError("read the capabilities");
  const auto joined = [&](auto member) {
    return Capabilities{data[1].*member} << 32 | Capabilities{data[0].*member};
  };
  return {joined(&__user_cap_data_struct::effective), joined(&__user_cap_data_struct::permitted),
          joined(&__user_cap_data_struct::inheritable)};
}

// `ask` says 1, 0, or -1 for a capability that this kernel does not know.
template <typename Ask>
Capabilities collect(Ask ask) {
  Capabilities set = 0;
  for (int capability = 0; capability < 64; ++capability) {
    const int answer = ask(capability);
    if (answer < 0) break;
    if (answer > 0) set |= Capabilities{1} << capability;
  }
  return set;
}

}  // namespace

std::vector<IdExtent> parse_id_map(const std::string& text) {
  std::vector<IdExtent> extents;
  std::istringstream words(text);
  std::uint32_t outside = 0;
  for (IdExtent extent; words >> extent.first >> outside >> extent.count;)
    extents.push_back(extent);
  return extents;
}

Capabilities own_capabilities() { return own_sets().effective; }

Capabilities capabilities_after_exec() {
  const bool root_is_special =
      (static_cast<unsigned>(::prctl(PR_GET_SECUREBITS)) & SECBIT_NOROOT) == 0;
  if (::geteuid() != 0 || !root_is_special)
    return collect([](int capability) {
      return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0);
    });
  const CapabilitySets own = own_sets();
  const Capabilities regained = own.inheritable | collect([](int capability) {
                                  return ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
                                });
  return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? regained & own.permitted : regained;
}

std::optional<uid_t> host_root_uid() {
  // A file that belongs to the machine's root in every /proc. An owner that does not exist in our
  // user namespace is shown as this number.
  constexpr uid_t overflow_uid = 65534;
  struct stat info{};
  if (::stat("/proc/version", &info) != 0) throw OsError("look at /proc/version");
  if (info.st_uid == overflow_uid) return std::nullopt;
  return info.st_uid;
}

}  // namespace hearth::os
