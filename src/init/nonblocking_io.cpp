#include "init/nonblocking_io.h"

#include "base/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hearth::init {

void make_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
    throw OsError("make descriptor non-blocking");
}

ReadResult read_available(int fd, std::span<char> into) {
  while (true) {
    const ssize_t got = ::read(fd, into.data(), into.size());
    if (got > 0) return {static_cast<std::size_t>(got), false, false};
    if (got == 0) return {0, true, true};
    if (errno == EINTR) continue;
    const bool nothing_yet = errno == EAGAIN || errno == EWOULDBLOCK;
    return {0, !nothing_yet, true};
  }
}

WriteResult write_available(int fd, std::string_view bytes) {
  WriteResult result;
  while (result.bytes < bytes.size()) {
    const ssize_t put = ::write(fd, bytes.data() + result.bytes, bytes.size() - result.bytes);
    if (put >= 0) {
      result.bytes += static_cast<std::size_t>(put);
    } else if (errno != EINTR) {
      result.broken = errno != EAGAIN && errno != EWOULDBLOCK;
      break;
    }
  }
  return result;
}

}  // namespace hearth::init
