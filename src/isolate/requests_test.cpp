#include "isolate/requests.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

using namespace hearth;
using namespace hearth::isolate;
using wire::SpawnKind;

namespace {

Request request_of(SpawnKind kind, std::size_t fd_count, bool has_network = false) {
  Request request{};
  request.values.kind = kind;
  request.values.has_network = has_network ? 1 : 0;
  request.fd_count = fd_count;
  for (std::size_t i = 0; i < fd_count; ++i) request.fds[i] = static_cast<std::int32_t>(10 + i);
  return request;
}

struct Sockets {
  int ends[2] = {-1, -1};
  Sockets() { REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0); }
  ~Sockets() {
    for (const int fd : ends) ::close(fd);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
};

struct Reply {
  wire::SpawnReply values{};
  int pidfd = -1;

  explicit Reply(int socket) {
    iovec content{&values, sizeof values};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    REQUIRE(::recvmsg(socket, &message, MSG_DONTWAIT) == sizeof values);
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr) return;
    std::memcpy(&pidfd, CMSG_DATA(header), sizeof pidfd);
  }
  ~Reply() {
    if (pidfd >= 0) ::close(pidfd);
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
};

}  // namespace

TEST_CASE("a request without all descriptors of its kind is not whole") {
  CHECK(is_whole(request_of(SpawnKind::sandbox, 2)));
  CHECK(is_whole(request_of(SpawnKind::sandbox, 12, true)));
  CHECK_FALSE(is_whole(request_of(SpawnKind::sandbox, 1)));
  CHECK_FALSE(is_whole(request_of(SpawnKind::sandbox, 2, true)));
  CHECK(is_whole(request_of(SpawnKind::worker, 6)));
  CHECK_FALSE(is_whole(request_of(SpawnKind::worker, 5)));
  CHECK(is_whole(request_of(SpawnKind::twin, 1)));
  CHECK_FALSE(is_whole(request_of(SpawnKind::twin, 0)));
  CHECK_FALSE(is_whole(request_of(SpawnKind::twin, 2)));
  CHECK_FALSE(is_whole(request_of(static_cast<SpawnKind>(99), 12)));
}

TEST_CASE("the descriptors of a request become the fields of their kind") {
  HearthSandboxSpec spec{};
  SUBCASE("a sandbox with a network namespace to reuse") {
    const Request request = request_of(SpawnKind::sandbox, 5, true);
    fill_in(spec, request);
    CHECK(spec.stream == 10);
    CHECK(spec.control == 11);
    CHECK(spec.network == 12);
    REQUIRE(spec.cgroup_count == 2);
    CHECK(spec.cgroup_fds[0] == 13);
  }
  SUBCASE("a sandbox without one") {
    spec.network = 77;  // of the request before
    const Request request = request_of(SpawnKind::sandbox, 2);
    fill_in(spec, request);
    CHECK(spec.network == -1);
    CHECK(spec.cgroup_count == 0);
  }
  SUBCASE("one more worker") {
    const Request request = request_of(SpawnKind::worker, 7);
    fill_in(spec, request);
    CHECK(spec.joined == 10);
    CHECK(spec.gate == 11);
    const std::int32_t expected[] = {12, 13, 14, 15};
    CHECK(std::equal(std::begin(expected), std::end(expected), spec.worker_fds));
    REQUIRE(spec.cgroup_count == 1);
    CHECK(spec.cgroup_fds[0] == 16);
  }
}

TEST_CASE("a request arrives with its descriptors, and a host that has hung up is noticed") {
  Sockets sockets;
  wire::SpawnRequest sent{};
  sent.number = 42;
  sent.uid = 1234;
  iovec content{&sent, sizeof sent};
  alignas(cmsghdr) char space[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int fds[] = {0, 1};
  std::memcpy(CMSG_DATA(header), fds, sizeof fds);
  REQUIRE(::sendmsg(sockets.ends[0], &message, 0) == sizeof sent);

  Request request;
  REQUIRE(receive(sockets.ends[1], request));
  CHECK(request.values.number == 42);
  CHECK(request.values.uid == 1234);
  REQUIRE(request.fd_count == 2);
  for (std::size_t i = 0; i < request.fd_count; ++i) CHECK(::close(request.fds[i]) == 0);

  ::shutdown(sockets.ends[0], SHUT_RDWR);
  CHECK_FALSE(receive(sockets.ends[1], request));
}

TEST_CASE("the answer holds a pidfd of the new process, or the error") {
  const Sockets sockets;
  wire::SpawnRequest request{};
  request.number = 7;
  SUBCASE("a process") {
    const pid_t pid = ::fork();
    if (pid == 0)
      for (;;) ::pause();
    CHECK(answer(sockets.ends[0], request, pid));
    const Reply reply(sockets.ends[1]);
    CHECK(reply.values.number == 7);
    CHECK(reply.values.error == 0);
    REQUIRE(reply.pidfd >= 0);
    ::kill(pid, SIGKILL);
    pollfd exit{reply.pidfd, POLLIN, 0};
    CHECK(::poll(&exit, 1, -1) == 1);
    ::waitpid(pid, nullptr, 0);
  }
  SUBCASE("an error") {
    errno = ENOTSUP;
    CHECK(answer(sockets.ends[0], request, -1));
    const Reply reply(sockets.ends[1]);
    CHECK(reply.values.error == ENOTSUP);
    CHECK(reply.pidfd == -1);
  }
  SUBCASE("a twin needs no pidfd") {
    request.kind = SpawnKind::twin;
    CHECK(answer(sockets.ends[0], request, ::getpid()));
    const Reply reply(sockets.ends[1]);
    CHECK(reply.values.error == 0);
    CHECK(reply.pidfd == -1);
  }
  SUBCASE("a process that cannot be handed over") {
    CHECK_FALSE(answer(sockets.ends[0], request, 0x7fffffff));
  }
}
