#include "docker/container.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace hearth::docker {

void Container::note_ended() {
  if (!std::exchange(has_ended_, true)) news_.cancel();
}

Task<> Container::ended(std::shared_ptr<Container> container) {
  while (!container->has_ended_) {
    co_await container->news_.async_wait(asio::as_tuple(asio::use_awaitable));
    const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (!container->has_ended_ && task.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
  }
}

}  // namespace hearth::docker
