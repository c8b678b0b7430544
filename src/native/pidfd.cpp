#include "native/pidfd.h"

#include "base/error.h"
#include "os/read_file.h"
#include "os/unique_fd.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

namespace hearth::native {
namespace {

// While no descriptor is free for a better way.
constexpr std::chrono::milliseconds until_next_look{50};

// False if there is no room.
bool watch(asio::posix::stream_descriptor& copy, int pidfd) {
  os::UniqueFd fd(::fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
  if (!fd) return false;
  boost::system::error_code error;
  copy.assign(fd.get(), error);
  if (!error) fd.release();
  return !error;
}

}  // namespace

bool has_ended(int pidfd) {
  pollfd process{pidfd, POLLIN, 0};
  return ::poll(&process, 1, 0) > 0 && (process.revents & POLLNVAL) == 0;
}

void kill_process(int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

Task<> process_ended(int pidfd) {
  const auto executor = co_await asio::this_coro::executor;
  while (!has_ended(pidfd)) {
    // Each waiting task has a copy: the loop accepts a descriptor only once.
    asio::posix::stream_descriptor copy(executor);
    if (watch(copy, pidfd)) {
      co_await copy.async_wait(copy.wait_read, asio::use_awaitable);
    } else {
      asio::steady_timer pause(executor, until_next_look);
      co_await pause.async_wait(asio::use_awaitable);
    }
  }
}

namespace {

// What the kernel says of it after `key`, to the end of the line.
std::string fact_of(int pidfd, const std::string& key) {
  const std::string line = "\n" + key + ":\t";
  const std::string info = os::read_file("/proc/self/fdinfo/" + std::to_string(pidfd), 4096);
  const std::size_t found = info.find(line);
  if (found == std::string::npos) return {};
  const std::size_t start = found + line.size();
  return info.substr(start, info.find('\n', start) - start);
}

}  // namespace

bool is_below(int pidfd) try {
  // Its pids, outermost first; -1 if it has exited.
  const std::string pids = fact_of(pidfd, "NSpid");
  return pids.find('\t') != std::string::npos || fact_of(pidfd, "Pid") == "-1";
} catch (const Error&) {
  return false;
}

pid_t pid_of(int pidfd) try {
  return std::max(std::atoi(fact_of(pidfd, "Pid").c_str()), 0);
} catch (const Error&) {
  return 0;
}

}  // namespace hearth::native
