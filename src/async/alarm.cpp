#include "async/alarm.h"

#include <utility>

namespace hearth {

Alarm::Alarm(const asio::any_io_executor& executor, std::chrono::nanoseconds after,
             std::function<void()> ring)
    : timer_(executor, after) {
  // A timer that has expired can no longer be cancelled: its handler may be on its way.
  timer_.async_wait(
      [ring = std::move(ring), alive = std::weak_ptr(alive_)](boost::system::error_code error) {
        if (!error && !alive.expired()) ring();
      });
}

}  // namespace hearth
