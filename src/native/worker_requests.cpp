#include "native/worker_requests.h"

#include "base/error.h"
#include "base/log.h"
#include "os/packet.h"
#include "os/pairs.h"
#include "wire/member_reader.h"
#include "wire/protocol_error.h"

#include <boost/json.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>

namespace hearth::native {
namespace {

constexpr std::size_t max_request_bytes = 256;
constexpr std::size_t fds_of_worker = 4;

// Closing the last descriptor of a socket may block until its data is sent. Closing a pipe never
// does.
bool all_are_pipes(const std::vector<os::UniqueFd>& fds) {
  return std::all_of(fds.begin(), fds.end(), [](const os::UniqueFd& fd) {
    struct stat info{};
    return ::fstat(fd.get(), &info) == 0 && S_ISFIFO(info.st_mode);
  });
}

}  // namespace

WorkerRequests::WorkerRequests(const asio::any_io_executor& executor) : socket_(executor) {
  os::SocketPair pair = os::make_socket_pair(SOCK_SEQPACKET);
  far_end_ = std::move(pair.theirs);
  socket_.assign(pair.ours.get());
  pair.ours.release();
}

void WorkerRequests::await_request(std::function<void(WorkerRequest)> on_request) {
  socket_.async_wait(socket_.wait_read,
                     [this, alive = std::weak_ptr(alive_),
                      on_request = std::move(on_request)](boost::system::error_code error) mutable {
                       if (error || alive.expired()) return;
                       std::optional<WorkerRequest> request;
                       if (!receive(request)) return;
                       if (request) return on_request(std::move(*request));
                       await_request(std::move(on_request));
                     });
}

// False at the end of the stream and after a malformed request.
bool WorkerRequests::receive(std::optional<WorkerRequest>& request) try {
  std::array<char, max_request_bytes> buffer{};
  std::optional<os::Packet> packet = os::receive_packet(socket_.native_handle(), buffer);
  if (!packet) return true;
  if (packet->text.empty()) return false;
  wire::MemberReader members(packet->text);
  const bool asks = members.string("type") == "prepare";
  const std::uint64_t number = members.count("number");
  members.finish();
  if (!asks) throw wire::ProtocolError("it asks for something else");
  if (packet->fds.size() == fds_of_worker && all_are_pipes(packet->fds)) {
    request = WorkerRequest{number, std::move(packet->fds)};
  } else {
    // Some are missing if this process has no room for them, which may change.
    say_failed(number, "its pipes did not arrive");
  }
  return true;
} catch (const Error& error) {
  log::warning("worker request is malformed", {{"error", error.what()}});
  return false;
}

void WorkerRequests::say_failed(std::uint64_t number, const std::string& why) try {
  os::send_packet(socket_.native_handle(),
                  R"({"type":"prepare_failed","number":)" + std::to_string(number) +
                      R"(,"message":)" + boost::json::serialize(boost::json::value(why)) + '}');
} catch (const Error& error) {
  log::warning("worker failure could not be sent to the sandbox", {{"error", error.what()}});
}

}  // namespace hearth::native
