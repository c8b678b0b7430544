// channel/sandbox_channel.h: the conversation with one sandbox: typed messages over whatever
// carries its bytes.
#pragma once

#include "async/byte_stream.h"
#include "async/task.h"
#include "base/error.h"
#include "wire/line_reader.h"
#include "wire/messages.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace hearth {

// The sandbox is gone: the stream ended, inside a line or between two.
struct IncompleteRead : Error {
  using Error::Error;
};

// It started and failed, or said something else than that it is ready.
struct SpawnError : Error {
  SpawnError(const std::string& message, std::string trace)
      : Error(message), traceback(std::move(trace)) {}
  std::string traceback;  // of the tool or package that would not load
};

struct ReadyTimeout : Error {
  using Error::Error;
};

class SandboxChannel {
 public:
  explicit SandboxChannel(std::unique_ptr<ByteStream> stream);

  Task<> send(wire::Request request);

  struct Received {
    wire::Event event;
    std::size_t line_bytes = 0;
  };
  // Throws IncompleteRead, or ProtocolError after which nothing the sandbox says can be trusted.
  Task<Received> receive();

  // The first thing a sandbox says. Throws SpawnError, ReadyTimeout or IncompleteRead.
  Task<wire::Ready> await_ready(std::chrono::milliseconds limit);

  // Back to how it was when it was new. Throws DeadlineExceeded or IncompleteRead.
  Task<wire::ResetDone> reset(std::chrono::milliseconds limit);

 private:
  Task<> receive_ready(wire::Ready& ready);
  Task<> exchange_reset(wire::ResetDone& done);

  std::unique_ptr<ByteStream> stream_;
  wire::LineReader lines_;
  std::array<char, std::size_t{64} << 10> chunk_;
};

}  // namespace hearth
