#include "os/pairs.h"

#include "base/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace hearth::os {

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw OsError("create a pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

SocketPair make_socket_pair(int type) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw OsError("create a pair of sockets");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace hearth::os
