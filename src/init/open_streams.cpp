#include "init/open_streams.h"

#include "wire/protocol_error.h"

#include <algorithm>

namespace hearth::init {

void OpenStreams::open(wire::StreamId id, const Begin& begin) {
  const auto [stream, is_new] = streams_.try_emplace(id, host_, id);
  stream->second.work = begin(stream->second.port);
  remove_if_closed(stream);
}

void OpenStreams::remove_if_closed(Streams::iterator stream) {
  if (stream->second.port.is_closed()) streams_.erase(stream);
}

void OpenStreams::take_data(wire::StreamId id, std::string_view bytes) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end()) return;
  if (!stream->second.port.take_data(bytes.size()))
    throw wire::ProtocolError("more data than was granted");
  stream->second.work->take(bytes);
  remove_if_closed(stream);
}

void OpenStreams::accept(const wire::Window& window) {
  const auto stream = streams_.find(window.stream);
  if (stream == streams_.end()) return;
  if (!stream->second.port.take_window(window.bytes))
    throw wire::ProtocolError("a window too wide");
}

void OpenStreams::accept(const wire::End& end) {
  const auto stream = streams_.find(end.stream);
  if (stream == streams_.end()) return;
  stream->second.work->take_end();
  remove_if_closed(stream);
}

void OpenStreams::interrupt_all() {
  for (auto& [id, stream] : streams_) stream.work->interrupt();
  streams_.clear();
}

bool OpenStreams::is_ready() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& one) { return one.second.work->is_ready(); });
}

// Several rounds, so that the loop's own cost is shared; each stream gets its turn in each.
void OpenStreams::advance() {
  for (int round = 0; round < stream_rounds && !streams_.empty(); ++round) {
    for (auto stream = streams_.begin(); stream != streams_.end();) {
      const auto current = stream++;
      if (current->second.work->is_ready()) current->second.work->advance();
      remove_if_closed(current);
    }
  }
}

}  // namespace hearth::init
