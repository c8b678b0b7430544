#include "native/worker_line.h"

#include "base/error.h"
#include "base/log.h"
#include "os/packet.h"
#include "wire/member_reader.h"
#include "wire/protocol_error.h"

#include <boost/json.hpp>

#include <sys/socket.h>

#include <array>

namespace hearth::native {
namespace {

constexpr std::size_t max_request_bytes = 256;
constexpr std::size_t fds_of_worker = 4;

}  // namespace

WorkerLine::WorkerLine(const asio::any_io_executor& executor) : socket_(executor) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw OsError("create the sandbox's line for workers");
  far_end_.reset(ends[1]);
  socket_.assign(ends[0]);
}

void WorkerLine::await_request(std::function<void(WorkerRequest)> on_request) {
  socket_.async_wait(socket_.wait_read,
                     [this, alive = std::weak_ptr(alive_),
                      on_request = std::move(on_request)](boost::system::error_code error) {
                       if (error || alive.expired()) return;
                       std::optional<WorkerRequest> request = receive();
                       if (request) on_request(std::move(*request));
                     });
}

// Nothing if it makes no sense: init waits for its answer, and whoever wants a turn of it will see
// that. So it is when init has ended.
std::optional<WorkerRequest> WorkerLine::receive() try {
  std::array<char, max_request_bytes> buffer{};
  std::optional<os::Packet> packet = os::receive_packet(socket_.native_handle(), buffer);
  if (!packet || packet->text.empty()) return std::nullopt;
  wire::MemberReader members(packet->text);
  const bool asks = members.string("type") == "prepare";
  WorkerRequest request{members.count("number"), std::move(packet->fds)};
  members.finish();
  if (!asks || request.fds.size() != fds_of_worker)
    throw wire::ProtocolError("no request for a worker");
  return request;
} catch (const Error& error) {
  log::warning("a sandbox's request for a worker is not understood", {{"error", error.what()}});
  return std::nullopt;
}

void WorkerLine::say_failed(std::uint64_t number, const std::string& why) try {
  os::send_packet(socket_.native_handle(),
                  R"({"type":"prepare_failed","number":)" + std::to_string(number) +
                      R"(,"message":)" + boost::json::serialize(boost::json::value(why)) + '}');
} catch (const Error& error) {
  log::warning("a sandbox is not told about its worker", {{"error", error.what()}});
}

}  // namespace hearth::native
