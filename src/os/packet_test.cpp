#include "os/packet.h"

#include "base/error.h"
#include "os/pairs.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <string>

using namespace hearth;

namespace {

struct Pair {
  Pair() : Pair(os::make_socket_pair(SOCK_SEQPACKET)) {}
  explicit Pair(os::SocketPair ends) : here(std::move(ends.ours)), there(std::move(ends.theirs)) {}
  os::UniqueFd here;
  os::UniqueFd there;
  std::array<char, 64> buffer{};
};

}  // namespace

TEST_CASE("a packet arrives whole, with its descriptors, which are closed on exec") {
  Pair pair;
  auto [read_end, write_end] = os::make_pipe();
  CHECK(os::send_packet(pair.here.get(), "two", std::array{read_end.get(), write_end.get()}));
  CHECK(os::send_packet(pair.here.get(), "none"));
  const auto two = os::receive_packet(pair.there.get(), pair.buffer);
  REQUIRE(two);
  CHECK(two->text == "two");
  REQUIRE(two->fds.size() == 2);
  CHECK((::fcntl(two->fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(::write(two->fds[1].get(), "x", 1) == 1);
  char byte = 0;
  CHECK(::read(read_end.get(), &byte, 1) == 1);
  const auto none = os::receive_packet(pair.there.get(), pair.buffer);
  REQUIRE(none);
  CHECK(none->text == "none");
  CHECK(none->fds.empty());
}

TEST_CASE("no packet yet, and no sender any more, are told apart") {
  Pair pair;
  CHECK_FALSE(os::receive_packet(pair.there.get(), pair.buffer));
  pair.here.reset();
  const auto end = os::receive_packet(pair.there.get(), pair.buffer);
  REQUIRE(end);
  CHECK(end->text.empty());
  CHECK_FALSE(os::send_packet(pair.there.get(), "late"));
}

TEST_CASE("a packet that does not fit is an error, not the beginning of one") {
  Pair pair;
  CHECK(os::send_packet(pair.here.get(), std::string(pair.buffer.size(), 'x')));
  CHECK(os::receive_packet(pair.there.get(), pair.buffer)->text.size() == pair.buffer.size());
  CHECK(os::send_packet(pair.here.get(), std::string(pair.buffer.size() + 1, 'x')));
  CHECK_THROWS_AS(os::receive_packet(pair.there.get(), pair.buffer), Error);
}

TEST_CASE("a packet that cannot be sent is an error") {
  Pair pair;
  CHECK_THROWS_AS(os::send_packet(pair.here.get(), "x", std::array{-1}), OsError);
  CHECK_THROWS_AS(
      os::send_packet(pair.here.get(), "x", std::vector<int>(os::max_packet_fds + 1, 0)), Error);
}
