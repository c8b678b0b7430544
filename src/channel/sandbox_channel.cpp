#include "channel/sandbox_channel.h"

#include "async/within.h"
#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/protocol_error.h"

#include <optional>
#include <utility>

namespace hearth {
namespace {

// Init bounds what a script can put into one line to 8 MiB; twice that is not a sandbox of ours.
constexpr std::size_t max_event_line_bytes = std::size_t{16} << 20;

}  // namespace

SandboxChannel::SandboxChannel(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)), lines_(max_event_line_bytes) {}

Task<> SandboxChannel::send(wire::Request request) {
  const std::string line = wire::encode(request);
  co_await stream_->write(line);
}

Task<SandboxChannel::Received> SandboxChannel::receive() {
  while (true) {
    if (const std::optional<wire::LineReader::Line> line = lines_.next()) {
      if (line->too_long) throw wire::ProtocolError("a line without end");
      co_return Received{wire::decode_event(line->text), line->text.size() + 1};
    }
    const std::size_t size = co_await stream_->read_some(chunk_);
    if (size == 0)
      throw IncompleteRead(lines_.inside_line() ? "the sandbox's stream ended inside a message"
                                                : "the sandbox's stream ended");
    lines_.append({chunk_.data(), size});
  }
}

Task<wire::Ready> SandboxChannel::await_ready(std::chrono::milliseconds limit) {
  wire::Ready ready;
  try {
    co_await within(limit, receive_ready(ready));
  } catch (const DeadlineExceeded&) {
    throw ReadyTimeout("the sandbox was not ready within " + std::to_string(limit.count()) + " ms");
  }
  co_return ready;
}

Task<> SandboxChannel::receive_ready(wire::Ready& ready) {
  Received received = co_await receive();
  if (auto* error = std::get_if<wire::ScriptError>(&received.event.body))
    throw SpawnError(error->message, std::move(error->traceback));
  auto* said = std::get_if<wire::Ready>(&received.event.body);
  if (said == nullptr)
    throw SpawnError("the sandbox began with " + std::string(type_of(received.event.body)), {});
  ready = std::move(*said);
}

Task<wire::ResetDone> SandboxChannel::reset(std::chrono::milliseconds limit) {
  wire::ResetDone done;
  co_await within(limit, exchange_reset(done));
  co_return done;
}

Task<> SandboxChannel::exchange_reset(wire::ResetDone& done) {
  co_await send(wire::ResetRequest{});
  while (true) {
    Received received = co_await receive();
    if (auto* said = std::get_if<wire::ResetDone>(&received.event.body)) {
      done = std::move(*said);
      co_return;
    }
  }
}

}  // namespace hearth
