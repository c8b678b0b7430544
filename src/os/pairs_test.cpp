#include "os/pairs.h"

#include "base/error.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

using namespace hearth;

namespace {

bool closes_on_exec(const os::UniqueFd& fd) {
  return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0;
}

}  // namespace

TEST_CASE("what is written into a pipe comes out at its other end") {
  os::Pipe pipe = os::make_pipe();
  CHECK(closes_on_exec(pipe.read_end));
  CHECK(closes_on_exec(pipe.write_end));
  REQUIRE(::write(pipe.write_end.get(), "ab", 2) == 2);
  pipe.write_end.reset();
  std::array<char, 8> text{};
  CHECK(::read(pipe.read_end.get(), text.data(), text.size()) == 2);
  CHECK(::read(pipe.read_end.get(), text.data(), text.size()) == 0);
}

TEST_CASE("a socket pair carries bytes or packets, as asked for, both ways") {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const os::SocketPair pair = os::make_socket_pair(type);
    CHECK(closes_on_exec(pair.ours));
    CHECK(closes_on_exec(pair.theirs));
    REQUIRE(::write(pair.ours.get(), "a", 1) == 1);
    REQUIRE(::write(pair.ours.get(), "b", 1) == 1);
    std::array<char, 8> text{};
    CHECK(::read(pair.theirs.get(), text.data(), text.size()) == (type == SOCK_STREAM ? 2 : 1));
    REQUIRE(::write(pair.theirs.get(), "c", 1) == 1);
    CHECK(::read(pair.ours.get(), text.data(), text.size()) == 1);
  }
}

TEST_CASE("a pair that the kernel refuses is an error") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  CHECK_THROWS_AS(os::make_pipe(), OsError);
  CHECK_THROWS_AS(os::make_socket_pair(SOCK_STREAM), OsError);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}
