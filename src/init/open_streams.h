// init/open_streams.h: the data streams that the host has opened, and what init does for each, in
// slices: no stream keeps a turn's deadline, a cancel or a ping waiting.
#pragma once

#include "init/host_link.h"
#include "init/stream_port.h"
#include "wire/messages.h"

#include <functional>
#include <map>
#include <memory>
#include <string_view>

namespace hearth::init {

// What is done for one stream. It closes its port when it is over, and is destroyed then.
class StreamWork {
 public:
  virtual ~StreamWork() = default;
  // True while it can go on without waiting for the host.
  virtual bool is_ready() const { return false; }
  // Does a slice: a frame, or a millisecond's work. Only if it is ready.
  virtual void advance() {}
  // Bytes of the host, and their end. Those that have their place now are noted in the port.
  virtual void take(std::string_view /*bytes*/) {}
  virtual void take_end() {}
  // The sandbox is reset: sends the last answer.
  virtual void interrupt() = 0;
};

class OpenStreams {
 public:
  // `host` must outlive it.
  explicit OpenStreams(HostLink& host) : host_(host) {}

  bool is_open(wire::StreamId id) const { return streams_.contains(id); }
  bool is_full() const { return streams_.size() >= max_open_streams; }
  bool has_room_for(std::size_t more) const { return streams_.size() + more <= max_open_streams; }
  // Only if it is not open and there is room. `begin` may close the port at once.
  using Begin = std::function<std::unique_ptr<StreamWork>(StreamPort&)>;
  void open(wire::StreamId id, const Begin& begin);
  // For the answer to a request whose stream is not opened.
  StreamPort refused(wire::StreamId id) { return {host_, id}; }
  // Ends all streams, and tells the host.
  void interrupt_all();

  // Of streams that are over, the host may not know it yet: what it says of them is dropped. They
  // throw ProtocolError when it sends what it may not.
  void take_data(wire::StreamId id, std::string_view bytes);
  void accept(const wire::Window& window);
  void accept(const wire::End& end);
  void accept(const wire::Abandon& abandon) { streams_.erase(abandon.stream); }

  bool is_ready() const;
  // Some slices of each stream that is ready.
  void advance();

 private:
  struct Stream {
    Stream(HostLink& host, wire::StreamId id) : port(host, id) {}
    StreamPort port;
    std::unique_ptr<StreamWork> work;
  };
  using Streams = std::map<wire::StreamId, Stream>;
  void remove_if_closed(Streams::iterator stream);

  HostLink& host_;
  Streams streams_;
};

}  // namespace hearth::init
