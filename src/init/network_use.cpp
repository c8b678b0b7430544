#include "init/network_use.h"

#include "base/error.h"
#include "os/read_file.h"

namespace hearth::init {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 10;

// Not every kernel has each of them.
std::string content_of(const char* path) try {
  return os::read_file(path, most_bytes);
} catch (const OsError&) {
  return {};
}

std::string counters_now() {
  std::string text;
  for (const char* path : {"/proc/self/net/dev", "/proc/self/net/snmp", "/proc/self/net/snmp6",
                           "/proc/self/net/netstat", "/proc/self/net/ip6_flowlabel"})
    text += content_of(path);
  return text;
}

// The first line is about this namespace, the others are about the whole machine.
std::string sockets_now() {
  const std::string text = content_of("/proc/self/net/sockstat");
  return text.substr(0, text.find('\n'));
}

}  // namespace

NetworkUse::NetworkUse() : counters_(counters_now()), sockets_(sockets_now()) {}

std::string NetworkUse::found() const {
  if (sockets_now() != sockets_) return "a socket outlived its process";
  if (counters_now() != counters_) return "the network was used";
  return {};
}

}  // namespace hearth::init
