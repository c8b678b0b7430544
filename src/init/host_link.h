// init/host_link.h: the one stream to the host. Writes never block and are kept in order; who
// produces output looks at `backlog()` first.
#pragma once

#include "wire/line_reader.h"
#include "wire/messages.h"

#include <optional>
#include <string>
#include <string_view>

namespace hearth::init {

class HostLink {
 public:
  // Both stay the caller's; they may be one descriptor.
  HostLink(int read_fd, int write_fd);

  int read_fd() const { return read_fd_; }
  int write_fd() const { return write_fd_; }

  // Reads what is there. False at the end of the stream.
  bool receive();
  std::optional<wire::LineReader::Line> next_line() { return requests_.next(); }

  void send(const wire::Event& event);
  // The line is built in place by the caller, for output that is not worth a copy more.
  std::string& outgoing() { return outgoing_; }
  // False when the host is gone.
  bool flush();
  std::size_t backlog() const { return outgoing_.size() - sent_; }

 private:
  int read_fd_;
  int write_fd_;
  wire::LineReader requests_;
  std::string outgoing_;
  std::size_t sent_ = 0;  // of outgoing_
};

}  // namespace hearth::init
