// native/worker_requests.h: the socket on which the init of a sandbox asks for workers. Nothing
// that arrives there is trusted.
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
  std::vector<os::UniqueFd> pipes;  // the worker's ends of stdout, stderr, emit and run
};

class WorkerRequests {
 public:
  explicit WorkerRequests(const asio::any_io_executor& executor);

  // The other end, for init; once.
  os::UniqueFd take_far_end() { return std::move(far_end_); }

  // Calls `on_request` once, for the next request, unless this object is destroyed before. A
  // request without its pipes is answered with a failure. After a malformed one nothing is read any
  // more.
  void await_request(std::function<void(WorkerRequest)> on_request);
  void say_failed(std::uint64_t number, const std::string& why);

 private:
  bool receive(std::optional<WorkerRequest>& request);

  asio::posix::stream_descriptor socket_;
  os::UniqueFd far_end_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hearth::native
