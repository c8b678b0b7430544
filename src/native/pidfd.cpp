#include "native/pidfd.h"

#include "base/error.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace hearth::native {

void kill_process(int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

Task<> process_ended(int pidfd) {
  const int copy = ::fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw OsError("duplicate a pidfd");
  asio::posix::stream_descriptor handle(co_await asio::this_coro::executor, copy);
  co_await handle.async_wait(handle.wait_read, asio::use_awaitable);
}

pid_t pid_of(int pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  pid_t pid = 0;
  for (std::string word; info >> word;)
    if (word == "Pid:") info >> pid;
  return std::max(pid, 0);
}

}  // namespace hearth::native
