// init/network_use.h: whether anything was left in the network namespace of a container that serves
// several leases: counters cannot be set back, and a socket in flight inside itself has no process.
#pragma once

#include <string>

namespace hearth::init {

class NetworkUse {
 public:
  // As it is now; before the first script.
  NetworkUse();

  // What differs since then, in words; empty if nothing does.
  std::string found() const;

 private:
  std::string counters_;  // of packets and errors, of the interface and the protocols
  std::string sockets_;   // how many there are
};

}  // namespace hearth::init
