#include "cli/line_input.h"

#include "async/blocking.h"
#include "base/error.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
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

LineInput::LineInput(int fd, std::size_t max_line_bytes)
    : fd_(fd), lines_(max_line_bytes), wake_(::eventfd(0, EFD_CLOEXEC)) {
  if (!wake_) throw OsError("eventfd");
}

LineInput::~LineInput() { thread_.join(); }

Task<std::optional<LineInput::Line>> LineInput::next() {
  while (true) {
    if (const std::optional<wire::LineReader::Line> line = lines_.next())
      co_return Line{std::string(line->text), line->too_long};
    if (has_ended_) co_return std::nullopt;
    bool was_stopped = false;
    const std::string piece = co_await on_thread(thread_, [&](std::stop_token stop) {
      const std::stop_callback waking(stop, [this] { ::eventfd_write(wake_.get(), 1); });
      std::string bytes = read_piece(fd_, wake_.get());
      was_stopped = stop.stop_requested();
      return bytes;
    });
    if (was_stopped) throw boost::system::system_error(asio::error::operation_aborted);
    has_ended_ = piece.empty();
    lines_.append(has_ended_ && lines_.inside_line() ? "\n" : piece);
  }
}

}  // namespace hearth::cli
