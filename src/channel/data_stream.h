// channel/data_stream.h: one data stream beside whatever else a sandbox says: bytes each way, and
// the events that carry its id. It holds no more than a window, however slow its reader is.
//
//   DataStream stream(channel);
//   co_await stream.open(wire::FileRequest{stream.id(), wire::ReadFile{"data.csv"}});
//   while (true) { DataStream::Part part = co_await stream.receive(); … }
#pragma once

#include "async/task.h"
#include "channel/sandbox_channel.h"
#include "wire/messages.h"

#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <string_view>
#include <variant>

namespace hearth {

class DataStream {
 public:
  // Takes an id. `channel` must outlive it.
  explicit DataStream(SandboxChannel& channel);
  // Abandons what is not over. What the sandbox still sends of it is dropped.
  ~DataStream();
  DataStream(const DataStream&) = delete;
  DataStream& operator=(const DataStream&) = delete;

  wire::StreamId id() const { return id_; }

  // Sends the request that opens it, which must carry its id. Throws IncompleteRead.
  Task<> open(wire::Request request);

  // The same for a stream that a request of the caller's opens, which names others, too.
  void assume_open() { is_open_ = true; }

  // What comes next, in the order in which the sandbox sent it: bytes, or an event. Throws
  // IncompleteRead or ProtocolError.
  using Part = std::variant<std::string, wire::EventBody>;
  Task<Part> receive();

  // Sends bytes as the sandbox grants them. `bytes` must outlive the task. False, with some of them
  // unsent, if there is something to receive: then the sandbox may want no more.
  Task<bool> write(std::string_view bytes);
  // All has been sent.
  Task<> end();
  // Nothing more comes, and nothing is wanted: wakes the tasks that wait for it.
  void hang_up();

 private:
  friend class SandboxChannel;
  // By whichever task reads.
  void hear_data(std::string_view bytes);
  void hear(wire::EventBody body);
  void hear_failure(const wire::ScriptError& error);
  void note_taken(std::size_t bytes);

  SandboxChannel& channel_;
  wire::StreamId id_;
  std::deque<Part> parts_;
  std::exception_ptr failure_;
  std::uint64_t window_ = wire::first_window_bytes;  // what the sandbox may still send
  std::uint64_t taken_ = 0;                          // since the last grant
  std::uint64_t credit_ = wire::first_window_bytes;  // what may still be sent to it
  bool is_open_ = false;
};

}  // namespace hearth
