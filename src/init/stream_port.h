// init/stream_port.h: the sandbox's end of one data stream: what it may send, and what it grants.
#pragma once

#include "init/host_link.h"
#include "init/limits.h"
#include "wire/messages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace hearth::init {

class StreamPort {
 public:
  StreamPort(HostLink& host, wire::StreamId id) : host_(host), id_(id) {}

  wire::StreamId id() const { return id_; }

  // The size that the next frame may have; 0 while the host has granted nothing, or reads slowly.
  // So lines never wait behind more than a little data.
  std::size_t room() const {
    if (host_.backlog() >= max_data_backlog_bytes) return 0;
    return static_cast<std::size_t>(std::min<std::uint64_t>(credit_, wire::max_frame_bytes));
  }
  // At most room(), and not empty.
  void send_data(std::string_view bytes) {
    credit_ -= bytes.size();
    host_.send_data(id_, bytes);
  }
  void send(wire::EventBody body) { host_.send({{}, std::move(body)}); }
  // Grants the host what it has sent before, when that is enough for a line of its own.
  void note_taken(std::size_t bytes) {
    taken_ += bytes;
    if (taken_ < wire::first_window_bytes / 2) return;
    window_ += taken_;
    send(wire::Window{id_, std::exchange(taken_, 0)});
  }
  // The stream is over: the last answer was sent.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

  // From the host. False if it sends more than it may.
  bool take_window(std::uint64_t bytes) {
    if (bytes > UINT64_MAX - credit_) return false;
    credit_ += bytes;
    return true;
  }
  bool take_data(std::size_t bytes) {
    if (bytes > window_) return false;
    window_ -= bytes;
    return true;
  }

 private:
  HostLink& host_;
  wire::StreamId id_;
  std::uint64_t credit_ = wire::first_window_bytes;
  std::uint64_t window_ = wire::first_window_bytes;
  std::uint64_t taken_ = 0;
  bool is_closed_ = false;
};

}  // namespace hearth::init
