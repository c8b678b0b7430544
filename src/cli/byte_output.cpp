#include "cli/byte_output.h"

#include "async/blocking.h"
#include "base/error.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <stop_token>
#include <string>

namespace hearth::cli {
namespace {

// A pipe that can be written to takes so many bytes at once: writing them does not block.
constexpr std::size_t piece_bytes = PIPE_BUF;

// The writer of a pipe without a reader gets an error instead. In this thread alone: what hearth
// starts inherits how it takes signals.
void refuse_broken_pipes() {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
}

enum class Outcome { written, stopped, failed };  // failed: errno says why

Outcome write_all(int fd, int wake_fd, std::string_view bytes) {
  std::array<pollfd, 2> either{pollfd{fd, POLLOUT, 0}, pollfd{wake_fd, POLLIN, 0}};
  while (!bytes.empty()) {
    if (::poll(either.data(), either.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return Outcome::failed;
    }
    if (either[1].revents != 0) return Outcome::stopped;
    const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), piece_bytes));
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR && errno != EAGAIN) {
      return Outcome::failed;
    }
  }
  return Outcome::written;
}

}  // namespace

ByteOutput::ByteOutput(int fd) : fd_(fd), wake_(::eventfd(0, EFD_CLOEXEC)) {
  if (!wake_) throw OsError("eventfd");
}

ByteOutput::~ByteOutput() { thread_.join(); }

void ByteOutput::abandon() { ::eventfd_write(wake_.get(), 1); }

Task<> ByteOutput::write(std::string_view bytes) {
  if (bytes.empty()) co_return;
  bool was_cancelled = false;
  int failure = 0;
  const Outcome outcome = co_await on_thread(thread_, [&](std::stop_token stop) {
    refuse_broken_pipes();
    const std::stop_callback waking(stop, [this] { abandon(); });
    const Outcome found = write_all(fd_, wake_.get(), bytes);
    failure = errno;
    was_cancelled = stop.stop_requested();
    return found;
  });
  if (outcome == Outcome::failed) {
    failure_ = failure;
    throw OsError("write output", failure);
  }
  if (was_cancelled) throw boost::system::system_error(asio::error::operation_aborted);
  if (outcome == Outcome::stopped) throw Error("the output is not waited for any more");
  inside_line_ = bytes.back() != '\n';
}

}  // namespace hearth::cli
