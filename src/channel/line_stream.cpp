#include "channel/line_stream.h"

namespace hearth {

Task<bool> PlainLineStream::fill() {
  const std::size_t size = co_await bytes_->read_some(chunk_);
  lines_.append({chunk_.data(), size});
  co_return size > 0;
}

}  // namespace hearth
