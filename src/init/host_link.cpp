#include "init/host_link.h"

#include "init/limits.h"
#include "init/nonblocking_io.h"
#include "wire/encode.h"

#include <array>

namespace hearth::init {

HostLink::HostLink(int read_fd, int write_fd)
    : read_fd_(read_fd), write_fd_(write_fd), requests_(max_request_bytes) {
  make_nonblocking(read_fd);
  make_nonblocking(write_fd);
}

bool HostLink::receive() {
  std::array<char, read_chunk_bytes> chunk;  // NOLINT: filled by read
  const ReadResult result = read_available(read_fd_, chunk);
  requests_.append({chunk.data(), result.bytes});
  return !result.ended;
}

void HostLink::send(const wire::Event& event) { outgoing_ += wire::encode(event); }

void HostLink::send_data(wire::StreamId stream, std::string_view bytes) {
  wire::append_data_header(outgoing_, {stream, static_cast<std::uint32_t>(bytes.size())});
  outgoing_ += bytes;
}

bool HostLink::flush() {
  if (backlog() == 0) return true;
  const WriteResult result = write_available(write_fd_, std::string_view(outgoing_).substr(sent_));
  sent_ += result.bytes;
  if (sent_ == outgoing_.size()) {
    outgoing_.clear();
    sent_ = 0;
  } else if (sent_ > max_host_backlog_bytes) {
    outgoing_.erase(0, sent_);
    sent_ = 0;
  }
  return !result.broken;
}

}  // namespace hearth::init
