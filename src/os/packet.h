// os/packet.h: messages with file descriptors, on a SOCK_SEQPACKET socket. Never blocks.
#pragma once

#include "os/unique_fd.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hearth::os {

inline constexpr std::size_t max_packet_fds = 16;

// False if the other end is closed. Throws OsError.
bool send_packet(int socket, std::string_view text, std::span<const int> fds = {});

struct Packet {
  std::string_view text;  // in the caller's buffer; empty: the other end is closed
  std::vector<UniqueFd> fds;
};
// Nothing if there is none now. Throws Error, also for a packet that does not fit. Descriptors are
// missing if this process has no room for them.
std::optional<Packet> receive_packet(int socket, std::span<char> buffer);

}  // namespace hearth::os
