#include "os/packet.h"

#include "base/error.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace hearth::os {
namespace {

struct alignas(cmsghdr) DescriptorSpace {
  std::array<char, CMSG_SPACE(max_packet_fds * sizeof(int))> bytes{};
};

void attach(msghdr& message, DescriptorSpace& space, std::span<const int> fds) {
  if (fds.size() > max_packet_fds) throw Error("too many descriptors for one packet");
  message.msg_control = space.bytes.data();
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
}

std::vector<UniqueFd> attached(msghdr& message) {
  std::vector<UniqueFd> found;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      found.emplace_back(fd);
    }
  }
  return found;
}

}  // namespace

bool send_packet(int socket, std::string_view text, std::span<const int> fds) {
  iovec content{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  DescriptorSpace space;
  if (!fds.empty()) attach(message, space, fds);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
  if (errno == EPIPE || errno == ECONNRESET) return false;
  throw OsError("send a packet");
}

std::optional<Packet> receive_packet(int socket, std::span<char> buffer) {
  iovec content{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  DescriptorSpace space;
  message.msg_control = space.bytes.data();
  message.msg_controllen = space.bytes.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size >= 0) {
    Packet packet{{buffer.data(), static_cast<std::size_t>(size)}, attached(message)};
    if ((message.msg_flags & MSG_TRUNC) != 0) throw Error("a packet is longer than it may be");
    return packet;
  }
  if (errno == ECONNRESET) return Packet{};
  if (errno == EAGAIN || errno == EINTR) return std::nullopt;
  throw OsError("receive a packet");
}

}  // namespace hearth::os
