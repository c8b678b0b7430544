// native/worker_requests.h: the socket on which the init of a sandbox asks for workers. What comes
// from there is not to be trusted more than the sandbox is.
#pragma once

#include "os/unique_fd.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::native {

namespace asio = boost::asio;

struct WorkerRequest {
  std::uint64_t number = 0;
  std::vector<os::UniqueFd> fds;  // the worker's stdout, stderr, emit and run, all of them pipes
};

class WorkerRequests {
 public:
  explicit WorkerRequests(const asio::any_io_executor& executor);

  // The other end, for init; once.
  os::UniqueFd take_far_end() { return std::move(far_end_); }

  // `on_request` is called once, when there is one; not if this is gone by then. One whose pipes
  // did not arrive is refused; whoever talks nonsense is not heard again.
  void await_request(std::function<void(WorkerRequest)> on_request);
  void say_failed(std::uint64_t number, const std::string& why);

 private:
  bool receive(std::optional<WorkerRequest>& request);

  asio::posix::stream_descriptor socket_;
  os::UniqueFd far_end_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hearth::native
