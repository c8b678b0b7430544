// init/host_link.h: the one stream to the host. Writes never block and keep their order. Code that
// produces output checks `backlog()` first.
#pragma once

#include "wire/message_reader.h"
#include "wire/messages.h"

#include <optional>
#include <string>
#include <string_view>

namespace hearth::init {

class HostLink {
 public:
  // Does not own the descriptors, which may be the same.
  HostLink(int read_fd, int write_fd);

  int read_fd() const { return read_fd_; }
  int write_fd() const { return write_fd_; }

  // Reads what is available. False at the end of the stream.
  bool receive();
  std::optional<wire::MessageReader::Message> next_message() { return requests_.next(); }

  void send(const wire::Event& event);
  void send_data(wire::StreamId stream, std::string_view bytes);
  // For callers that build a line in place, to avoid a copy.
  std::string& outgoing() { return outgoing_; }
  // False if the host has hung up.
  bool flush();
  std::size_t backlog() const { return outgoing_.size() - sent_; }

 private:
  int read_fd_;
  int write_fd_;
  wire::MessageReader requests_;
  std::string outgoing_;
  std::size_t sent_ = 0;  // of outgoing_
};

}  // namespace hearth::init
