#include "cli/byte_input.h"

#include "async/blocking.h"
#include "base/error.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <stop_token>

namespace hearth::cli {
namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 10;

// Empty at the end of the input, and when told to stop.
std::string read_piece(int fd, int wake_fd) {
  std::array<pollfd, 2> either{pollfd{fd, POLLIN, 0}, pollfd{wake_fd, POLLIN, 0}};
  std::string piece(piece_bytes, '\0');
  while (true) {
    if (::poll(either.data(), either.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return {};
    }
    if (either[1].revents != 0) return {};
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    piece.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return piece;
  }
}

}  // namespace

ByteInput::ByteInput(int fd) : fd_(fd), wake_(::eventfd(0, EFD_CLOEXEC)) {
  if (!wake_) throw OsError("eventfd");
}

ByteInput::~ByteInput() { thread_.join(); }

Task<std::string> ByteInput::next() {
  bool was_stopped = false;
  std::string piece = co_await on_thread(thread_, [&](std::stop_token stop) {
    const std::stop_callback waking(stop, [this] { ::eventfd_write(wake_.get(), 1); });
    std::string bytes = read_piece(fd_, wake_.get());
    was_stopped = stop.stop_requested();
    return bytes;
  });
  if (was_stopped) throw boost::system::system_error(asio::error::operation_aborted);
  co_return piece;
}

}  // namespace hearth::cli
