// os/pairs.h: descriptors that come in pairs. All of them are closed when a program is executed.
#pragma once

#include "os/unique_fd.h"

#include <sys/socket.h>

namespace hearth::os {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};
// Throws OsError.
Pipe make_pipe();

struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
// Two connected Unix sockets. `type`: SOCK_STREAM or SOCK_SEQPACKET. Throws OsError.
SocketPair make_socket_pair(int type);

}  // namespace hearth::os
