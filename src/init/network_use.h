// init/network_use.h: detects use of the network namespace of a container that serves several
// leases. Counters cannot be reset, and a socket that was sent over itself belongs to no process.
#pragma once

#include <string>

namespace hearth::init {

class NetworkUse {
 public:
  // Notes the present state. To be called before the first script.
  NetworkUse();

  // A sentence about what differs since then, empty if nothing does.
  std::string found() const;

 private:
  std::string counters_;  // of packets and errors, of the interface and the protocols
  std::string sockets_;   // their number
};

}  // namespace hearth::init
