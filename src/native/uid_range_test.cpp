#include "native/uid_range.h"

#include "base/error.h"
#include "native/user_plan.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

using namespace hearth;
using native::UidRangeClaim;

namespace {

constexpr uid_t stranger = 65534;
const std::vector<native::UidRange> two_ranges = {{0x77400000, 1 << 16}, {0x77410000, 1 << 16}};

// Binds the abstract sockets that were once a claim; true if all could be bound.
bool take_all_names() {
  for (unsigned index = 0; index < 2048; ++index) {
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "hearth-users-" + std::to_string(index);
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0) return false;
  }
  return true;
}

// In a child: the exit code of `body`.
template <typename Body>
int in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("two instances have different ranges, and one that ended leaves its range to others") {
  const test::TemporaryDirectory directory;
  const std::vector<std::filesystem::path> here = {directory.path() / "users"};
  const UidRangeClaim first(two_ranges, here);
  auto second = std::make_unique<UidRangeClaim>(two_ranges, here);
  CHECK(first.range().first != second->range().first);
  const uid_t free = second->range().first;
  second.reset();
  CHECK(UidRangeClaim(two_ranges, here).range().first == free);
}

TEST_CASE("a directory that cannot be used leaves the choice to the next, then to chance") {
  const test::TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "open");
  std::filesystem::permissions(directory.path() / "open", std::filesystem::perms::all);
  const UidRangeClaim claim(two_ranges,
                            {"/proc/none", directory.path() / "open", directory.path() / "next"});
  CHECK(std::filesystem::exists(directory.path() / "next" / std::to_string(claim.range().first)));
  CHECK(UidRangeClaim(two_ranges, {"/proc/none"}).range().count == claim.range().count);
}

TEST_CASE("a range in which the machine has users is left to them") {
  const test::TemporaryDirectory directory;
  const std::vector<std::filesystem::path> here = {directory.path() / "users"};
  for (const uid_t offset : {0U, 1000U, 32768U, 65535U}) {
    INFO(offset);
    const auto is_known = [&](uid_t uid) { return uid == two_ranges[0].first + offset; };
    for (const auto& directories : {here, std::vector<std::filesystem::path>{"/proc/none"}})
      for (int attempt = 0; attempt < 8; ++attempt)  // each begins at random
        CHECK(UidRangeClaim(two_ranges, directories, is_known).range().first ==
              two_ranges[1].first);
  }
  CHECK_THROWS_AS(UidRangeClaim(two_ranges, here, [](uid_t) { return true; }), Error);
  // Both are free again.
  const UidRangeClaim first(two_ranges, here);
  const UidRangeClaim second(two_ranges, here);
}

TEST_CASE("the machine's own users are known") {
  CHECK(native::has_user(0));
  CHECK_FALSE(native::has_user(two_ranges[0].first));
}

TEST_CASE("a user that takes every name there is does not keep root from a range of users" *
          doctest::skip(::geteuid() != 0)) {
  const int outcome = in_child([] {
    // Abstract names are those of a network.
    if (::unshare(CLONE_NEWNET) != 0) return 10;
    const rlimit many{4096, 4096};
    if (::setrlimit(RLIMIT_NOFILE, &many) != 0) return 11;
    const uid_t root = ::geteuid();
    if (::seteuid(stranger) != 0 || !take_all_names() || ::seteuid(root) != 0) return 12;
    try {
      const native::UserFacts facts = native::gather_user_facts({});
      return UidRangeClaim(native::plan_users(facts).ranges).range().count > 0 ? 0 : 13;
    } catch (const std::exception&) {
      return 14;
    }
  });
  CHECK(outcome == 0);
}
