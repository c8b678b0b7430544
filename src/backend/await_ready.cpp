#include "backend/await_ready.h"

#include "async/within.h"
#include "backend/errors.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace hearth::backend {
namespace {

void check_protocol(const wire::Ready& ready) {
  if (ready.protocol == wire::protocol_version) return;
  const std::string found =
      ready.protocol ? fmt::format("protocol version {}", *ready.protocol) : "an older protocol";
  throw SpawnError(
      fmt::format("the sandbox's hearth-init speaks {}, this Hearth protocol version {}: "
                  "rebuild the image, or install hearth and its programs from one release",
                  found, wire::protocol_version));
}

Task<> receive_ready(SandboxChannel& channel, wire::Ready& ready) {
  SandboxChannel::Received received = co_await channel.receive();
  if (auto* error = std::get_if<wire::ScriptError>(&received.event.body))
    throw SpawnError(error->message, std::move(error->traceback));
  auto* first = std::get_if<wire::Ready>(&received.event.body);
  if (first == nullptr)
    throw SpawnError("the sandbox began with " + std::string(type_of(received.event.body)));
  check_protocol(*first);
  ready = std::move(*first);
}

}  // namespace

Task<wire::Ready> await_ready(SandboxChannel& channel, std::chrono::milliseconds limit) {
  wire::Ready ready;
  try {
    co_await within(limit, receive_ready(channel, ready));
  } catch (const DeadlineExceeded&) {
    throw ReadyTimeout("the sandbox was not ready within " + std::to_string(limit.count()) + " ms");
  }
  co_return ready;
}

}  // namespace hearth::backend
