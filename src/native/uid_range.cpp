#include "native/uid_range.h"

#include "base/error.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace hearth::native {
namespace {

// Above what distributions, directory services and other container engines hand out.
constexpr uid_t first_range = 0x70000000;
constexpr uid_t range_size = 1 << 16;
constexpr unsigned range_count = 2048;
// Inside, the low numbers have meanings.
constexpr uid_t first_sandbox_uid = 1000;

// A name without a file, so nothing is left behind.
os::UniqueFd claim_name(const std::string& name) {
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) throw OsError("create a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return socket;
  if (errno != EADDRINUSE) throw OsError("claim a range of users");
  return {};
}

}  // namespace

UidRangeClaim::UidRangeClaim() {
  for (unsigned index = 0; index < range_count; ++index) {
    mark_ = claim_name("hearth-users-" + std::to_string(index));
    if (!mark_) continue;
    range_ = {first_range + index * range_size, range_size};
    return;
  }
  throw Error("no range of users is free for sandboxes: other instances have taken all of them");
}

UidPool::UidPool(const UidRange& range) {
  for (uid_t uid = first_sandbox_uid; uid < range.count; ++uid) free_.push_back(uid);
}

UidPool::Lease UidPool::take(const std::shared_ptr<UidPool>& pool) {
  if (pool->free_.empty()) throw Error("no user is free for another sandbox");
  const uid_t uid = pool->free_.front();
  pool->free_.pop_front();
  return {pool, uid};
}

}  // namespace hearth::native
