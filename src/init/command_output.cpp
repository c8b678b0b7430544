#include "init/command_output.h"

#include "init/limits.h"

#include <algorithm>
#include <utility>

namespace hearth::init {

std::size_t EventOutput::room(Stream /*stream*/) const {
  return events_.backlog() >= max_host_backlog_bytes ? 0 : read_chunk_bytes;
}

void EventOutput::add(Stream stream, std::string_view bytes) {
  text_.add_text(stream, bytes);
  text_.deliver(*this, true, [] { return false; });
}

class StreamOutput::Work : public StreamWork {
 public:
  Work(std::shared_ptr<StreamOutput> output, Stream stream, StreamPort& port)
      : output_(std::move(output)), stream_(stream) {
    output_->port(stream_) = &port;
  }
  ~Work() override { output_->port(stream_) = nullptr; }
  void interrupt() override { output_->end(stream_); }

 private:
  std::shared_ptr<StreamOutput> output_;
  Stream stream_;
};

std::unique_ptr<StreamWork> StreamOutput::work_of(std::shared_ptr<StreamOutput> output,
                                                  Stream stream, StreamPort& port) {
  return std::make_unique<Work>(std::move(output), stream, port);
}

std::size_t StreamOutput::room(Stream stream) const {
  return is_wanted(stream) ? port(stream)->room() : 0;
}

void StreamOutput::add(Stream stream, std::string_view bytes) {
  const std::uint64_t allowed = std::min<std::uint64_t>(bytes.size(), max_bytes_ - bytes_);
  limit_reached_ = limit_reached_ || allowed < bytes.size();
  bytes_ += allowed;
  if (allowed > 0 && is_wanted(stream)) port(stream)->send_data(bytes.substr(0, allowed));
}

void StreamOutput::finish() {
  end(Stream::out);
  end(Stream::err);
}

void StreamOutput::end(Stream stream) {
  if (!is_wanted(stream)) return;
  StreamPort& ended = *std::exchange(port(stream), nullptr);
  ended.send(wire::End{ended.id()});
  ended.close();
}

}  // namespace hearth::init
