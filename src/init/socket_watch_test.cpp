#include "init/socket_watch.h"

#include <doctest/doctest.h>

#include <chrono>

namespace hearth::init {

using namespace std::chrono_literals;

TEST_CASE("sockets of the Internet are all that are not Unix sockets") {
  constexpr std::string_view sockstat =
      "sockets: used 2500\nTCP: inuse 4 orphan 0 tw 9 alloc 8149 mem 3855\n";
  constexpr std::string_view protocols =
      "protocol  size sockets  memory press maxhdr  slab module     cl co di\n"
      "MPTCPv6   2112      0      -1   no       0   yes  kernel      y  n  y\n"
      "UNIX-STREAM 1152    400      -1   NI       0   yes  kernel      y  n  n\n"
      "UNIX      1152     90      -1   NI       0   yes  kernel      y  n  n\n"
      "TCP       2368      4    3855   no     336   yes  kernel      y  y  y\n";
  CHECK(internet_sockets_in(sockstat, protocols) == 2010);
  CHECK(internet_sockets_in(sockstat, {}) == 2500);
  CHECK(internet_sockets_in("sockets: used 3\n", protocols) == 0);
  CHECK(internet_sockets_in("sockets: used x\n", {}) == 0);
  CHECK(internet_sockets_in({}, protocols) == 0);
}

TEST_CASE("sockets are looked at from time to time, and only while something runs") {
  SocketWatch watch;
  const Clock::time_point start = Clock::now();
  CHECK_FALSE(watch.finds_too_many(start, false));
  CHECK(watch.wake_at() == Clock::time_point::max());
  CHECK_FALSE(watch.finds_too_many(start, true));
  CHECK(watch.wake_at() == start + socket_check_interval);
  CHECK_FALSE(watch.finds_too_many(start + 1ms, true));
  CHECK(watch.wake_at() == start + socket_check_interval);
  CHECK_FALSE(watch.finds_too_many(start + socket_check_interval, true));
  CHECK(watch.wake_at() == start + 2 * socket_check_interval);
  CHECK_FALSE(watch.finds_too_many(start + socket_check_interval, false));
  CHECK(watch.wake_at() == Clock::time_point::max());
}

}  // namespace hearth::init
