#include "native/user_plan.h"

#include "os/read_file.h"

#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>

namespace hearth::native {
namespace {

using Kind = UserPlan::Kind;

struct Ranges {
  uid_t first;
  uid_t end;
  uid_t size;
};
// Above what distributions, other container engines and directory services hand out (by default,
// sssd's users of Active Directory end at 2000200000); below the users of containers.
constexpr Ranges usual{.first = 0x77400000, .end = 0x78000000, .size = 1 << 16};
// For user namespaces with the usual 65536 users: above people, below systemd's dynamic users.
constexpr Ranges in_small_namespace{.first = 32768, .end = 61184, .size = 2048};

constexpr std::size_t max_map_bytes = std::size_t{64} << 10;
constexpr uid_t nobody = 65534;

bool contains(const std::vector<os::IdExtent>& extents, const UidRange& range) {
  return std::any_of(extents.begin(), extents.end(), [&](const os::IdExtent& extent) {
    return range.first >= extent.first && range.count <= extent.count &&
           range.first - extent.first <= extent.count - range.count;
  });
}

bool is_usable(const UserFacts& facts, const UidRange& range) {
  const bool has_host_root = facts.host_root && *facts.host_root >= range.first &&
                             *facts.host_root - range.first < range.count;
  return !has_host_root && contains(facts.uids, range) && contains(facts.gids, range);
}

std::vector<UidRange> usable_ranges(const UserFacts& facts) {
  std::vector<UidRange> found;
  for (const Ranges& ranges : {usual, in_small_namespace}) {
    for (uid_t first = ranges.first; ranges.end - first >= ranges.size; first += ranges.size)
      if (is_usable(facts, {first, ranges.size})) found.push_back({first, ranges.size});
    if (!found.empty()) break;
  }
  return found;
}

std::uint64_t end_of(const os::IdExtent& extent) {
  constexpr std::uint64_t highest = 0x7fffffff;
  return std::min(highest, std::uint64_t{extent.first} + extent.count);
}

// The last user that is also a group: low numbers have meanings.
std::optional<uid_t> usable_user(const UserFacts& facts) {
  for (const os::IdExtent& uids : facts.uids)
    for (const os::IdExtent& gids : facts.gids) {
      const std::uint64_t first = std::max(uids.first, gids.first);
      std::uint64_t last = std::min(end_of(uids), end_of(gids)) - 1;
      while (last == facts.host_root || last == nobody) --last;
      if (last + 1 > first) return static_cast<uid_t>(last);
    }
  return std::nullopt;
}

}  // namespace

UserFacts gather_user_facts(std::optional<CgroupMounts::Version> cgroups) {
  const os::Capabilities rights = os::capabilities_after_exec();
  UserFacts facts;
  facts.uid = ::geteuid();
  facts.host_root = os::host_root_uid();
  facts.may_mount = os::has(rights, CAP_SYS_ADMIN);
  facts.may_set_ids = os::has(rights, CAP_SETUID) && os::has(rights, CAP_SETGID) &&
                      os::read_file("/proc/self/setgroups", max_map_bytes).starts_with("allow");
  if (cgroups == CgroupMounts::Version::v1 && !facts.is_host_root()) facts.may_set_ids = false;
  facts.uids = os::parse_id_map(os::read_file("/proc/self/uid_map", max_map_bytes));
  facts.gids = os::parse_id_map(os::read_file("/proc/self/gid_map", max_map_bytes));
  return facts;
}

UserPlan plan_users(const UserFacts& facts) {
  if (facts.may_set_ids) {
    std::vector<UidRange> ranges = usable_ranges(facts);
    if (!ranges.empty()) return {Kind::range, std::move(ranges), {}};
  }
  if (!facts.is_host_root()) return {Kind::caller, {}, {}};
  const std::optional<uid_t> user = usable_user(facts);
  if (user && facts.may_set_ids) return {Kind::one, {{*user, 1}}, {}};
  return {Kind::refused,
          {},
          std::string("they would be the machine's root: ") +
              (user ? "root lacks CAP_SETUID or CAP_SETGID. Start Hearth with both (docker run "
                      "--cap-add SETUID --cap-add SETGID), or as another user (docker run --user "
                      "1000:1000)"
                    : "no other user exists in this user namespace. Give it more users, or start "
                      "Hearth as another user")};
}

}  // namespace hearth::native
