#include "channel/message_stream.h"

namespace hearth {

Task<bool> PlainMessageStream::fill() {
  const std::size_t size = co_await bytes_->read_some(chunk_);
  messages_.append({chunk_.data(), size});
  co_return size > 0;
}

}  // namespace hearth
