// os/packet.h: messages with descriptors, on a SOCK_SEQPACKET socket. Neither waits.
#pragma once

#include "os/unique_fd.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hearth::os {

inline constexpr std::size_t max_packet_fds = 16;

// False when nobody is there to receive it. Throws OsError.
bool send_packet(int socket, std::string_view text, std::span<const int> fds = {});

struct Packet {
  std::string_view text;  // in the caller's buffer; empty: nobody is there to send any more
  std::vector<UniqueFd> fds;
};
// Nothing if there is none now. Throws Error, also at one that does not fit; descriptors for which
// this process has no room are missing.
std::optional<Packet> receive_packet(int socket, std::span<char> buffer);

}  // namespace hearth::os
