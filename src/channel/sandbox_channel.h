// channel/sandbox_channel.h: the conversations with one sandbox: typed messages over any stream of
// bytes. Any number of tasks may use it at once: a turn, pings, data streams (data_stream.h).
//
// No task of its own reads the stream. Of those that wait for something, one reads and gives the
// others what is theirs; when it has what it wanted, or is cancelled, the next one goes on.
#pragma once

#include "async/byte_stream.h"
#include "async/event.h"
#include "async/task.h"
#include "base/error.h"
#include "channel/message_stream.h"
#include "channel/outgoing.h"
#include "wire/messages.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

class DataStream;

// The sandbox is gone: the stream ended, inside a message or between two.
struct IncompleteRead : Error {
  using Error::Error;
};

// It must outlive its listeners, its streams and the tasks that use them.
class SandboxChannel {
 public:
  explicit SandboxChannel(std::unique_ptr<MessageStream> stream);
  explicit SandboxChannel(std::unique_ptr<ByteStream> stream);

  // Returns when the request has gone out, before data that waits. Throws OsError when the other
  // side is gone. If the task is cancelled, the request may still go out, whole.
  Task<> send(wire::Request request);
  // The same without waiting: what does not go out at once does so with the next message, or while
  // a task reads.
  void post(const wire::Request& request) noexcept;

  struct Received {
    wire::Event event;
    std::size_t line_bytes = 0;
  };

  // One conversation: what it wants is kept for it, from its construction on.
  class Listener {
   public:
    using Wants = std::function<bool(const wire::Event&)>;
    Listener(SandboxChannel& channel, Wants wants);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // Throws IncompleteRead, or ProtocolError after which nothing the sandbox says can be trusted.
    Task<Received> receive();

   private:
    friend class SandboxChannel;
    SandboxChannel& channel_;
    Wants wants_;
    std::deque<Received> heard_;
  };

  // The next event that belongs to no data stream: for a task that is alone with the sandbox.
  Task<Received> receive();

  // Events that no conversation wanted, so far.
  std::uint64_t unwanted_events() const { return unwanted_events_; }

  // Returns the sandbox to the state it was spawned in. Throws DeadlineExceeded or IncompleteRead.
  Task<wire::ResetDone> reset(std::chrono::milliseconds limit);

  // Returns when the sandbox has answered. Throws IncompleteRead, ProtocolError or
  // DeadlineExceeded.
  Task<> ping(std::chrono::milliseconds limit);

 private:
  friend class DataStream;
  using Condition = std::function<bool()>;
  struct Follower;
  class Leading;

  // Takes part in reading until the condition holds, which only what is heard can change.
  Task<> hear_until(Condition holds);
  Task<> lead(const Condition& holds);
  Task<> follow(const Condition& holds);
  Task<bool> fill();
  Task<> read_more(std::optional<bool>& is_open);
  Task<> room_for_left(AsyncEvent& left);
  bool dispatch_next();
  void deliver(Received received);
  void deliver_to_all(const Received& received);
  void wake_satisfied();
  void fail(std::exception_ptr failure);

  Task<> write(Outgoing::Kind kind, std::string message);
  void flush();
  void flush_left() noexcept;

  Task<> exchange_reset(wire::ResetDone& done);
  Task<> exchange_ping();
  Task<> ask(wire::Request request);

  std::unique_ptr<MessageStream> stream_;
  Outgoing outgoing_;
  bool takes_nothing_ = false;  // writing has failed
  AsyncEvent* left_ = nullptr;  // of the task that reads: something waits to be written
  std::list<Listener*> listeners_;
  std::map<wire::StreamId, DataStream*> streams_;
  wire::StreamId next_stream_ = 1;
  std::list<Follower*> followers_;
  bool is_being_read_ = false;
  std::exception_ptr failure_;  // of reading: final
  std::uint64_t unwanted_events_ = 0;
};

}  // namespace hearth
