// channel/sandbox_channel.h: the conversation with one sandbox: typed messages over any stream of
// bytes.
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

  // Returns the sandbox to the state it was spawned in. Throws DeadlineExceeded or IncompleteRead.
  Task<wire::ResetDone> reset(std::chrono::milliseconds limit);

  // The two functions below receive their answer themselves, so not during a turn: its executor
  // receives then. They throw IncompleteRead, ProtocolError or DeadlineExceeded. After the last one
  // an answer may still arrive, and the channel cannot be used any more.

  // Returns when the sandbox has answered.
  Task<> ping(std::chrono::milliseconds limit);

  // Puts a file of any size into the workspace, in pieces, all within `limit`. `content` must
  // outlive the task. Throws Error with the reason if the path is invalid or the sandbox refuses.
  // The sandbox then has nothing of the file, and stays usable.
  Task<> write_file(std::string path, std::string_view content, unsigned mode,
                    std::chrono::milliseconds limit);

 private:
  Task<> exchange_reset(wire::ResetDone& done);
  Task<> exchange_ping();
  Task<> exchange_file(std::string path, std::string_view content, unsigned mode);
  Task<> ask(wire::Request request);
  template <typename Answer>
  Task<Answer> receive_answer();

  std::unique_ptr<LineStream> stream_;
};

}  // namespace hearth
