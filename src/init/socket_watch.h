// init/socket_watch.h: notices when a sandbox has more sockets of the Internet than it may have.
// The kernel counts connections that wait to be accepted, and what it takes on each connection
// beyond a limit, for no cgroup; so their number is what bounds that memory.
#pragma once

#include "init/limits.h"

#include <cstdint>
#include <string_view>

namespace hearth::init {

class SocketWatch {
 public:
  // To be called in each round of the loop. Looks from time to time while scripts or commands run,
  // and not at all in those that are over soon.
  bool finds_too_many(Clock::time_point now, bool is_anything_running);
  Clock::time_point wake_at() const { return next_look_; }

 private:
  Clock::time_point next_look_ = Clock::time_point::max();
};

// How many there are, open or not, by the contents of /proc/net/sockstat and /proc/net/protocols.
std::uint64_t internet_sockets_in(std::string_view sockstat, std::string_view protocols);

}  // namespace hearth::init
