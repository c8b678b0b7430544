// channel/sandbox_channel.h: the conversation with one sandbox: typed messages over whatever
// carries its bytes.
#pragma once

#include "async/byte_stream.h"
#include "async/task.h"
#include "base/error.h"
#include "channel/line_stream.h"
#include "wire/messages.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

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
  explicit SandboxChannel(std::unique_ptr<LineStream> stream);
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

  // The two below wait for their answer themselves, so not while somebody else receives: during a
  // turn, its executor. They throw DeadlineExceeded, after which an answer may still come and the
  // channel is of no more use; IncompleteRead; or ProtocolError.

  // Returns when the sandbox has shown that it is alive.
  Task<> ping(std::chrono::milliseconds limit);

  // Puts a file of any size into the workspace, in pieces, all within `limit`. `content` must
  // outlive the task. Throws Error with the reason when the path is none or the sandbox refuses; it
  // goes on then, and has kept nothing of the file.
  Task<> write_file(std::string path, std::string_view content, unsigned mode,
                    std::chrono::milliseconds limit);

 private:
  Task<> receive_ready(wire::Ready& ready);
  Task<> exchange_reset(wire::ResetDone& done);
  Task<> exchange_ping();
  Task<> exchange_file(std::string path, std::string_view content, unsigned mode);
  Task<> ask(wire::Request request);
  template <typename Answer>
  Task<Answer> receive_answer();

  std::unique_ptr<LineStream> stream_;
};

}  // namespace hearth
