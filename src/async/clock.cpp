#include "async/clock.h"

#include "async/event.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace hearth {
namespace {

class TimerAlarm : public Clock::Alarm {
 public:
  TimerAlarm(const asio::any_io_executor& executor, Clock::Time time, std::function<void()> ring)
      : timer_(executor, time), alive_(std::make_shared<bool>(true)) {
    // A timer that has expired can no longer be cancelled: its handler may be on its way.
    timer_.async_wait([alive = std::weak_ptr<bool>(alive_), call = std::move(ring)](auto error) {
      if (!error && !alive.expired()) call();
    });
  }

 private:
  asio::steady_timer timer_;
  std::shared_ptr<bool> alive_;
};

}  // namespace

Task<> Clock::sleep_until(Time time) {
  AsyncEvent woken(co_await asio::this_coro::executor);
  bool rang = false;
  const std::unique_ptr<Alarm> alarm = ring_at(time, [&] {
    rang = true;
    woken.notify_all();
  });
  co_await woken.wait_until([&rang] { return rang; });
}

SystemClock::SystemClock(asio::any_io_executor executor) : executor_(std::move(executor)) {}

std::unique_ptr<Clock::Alarm> SystemClock::ring_at(Time time, std::function<void()> ring) {
  return std::make_unique<TimerAlarm>(executor_, time, std::move(ring));
}

}  // namespace hearth
