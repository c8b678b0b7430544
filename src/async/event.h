// async/event.h: tasks wait here until another task on the same loop says that something changed.
// It has no state of its own: the condition belongs to the tasks. It must outlive all waiting
// tasks.
#pragma once

#include "async/task.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace hearth {

class AsyncEvent {
 public:
  explicit AsyncEvent(const asio::any_io_executor& executor);

  void notify_all() { timer_.cancel(); }
  // Wakes the task that has waited longest. If that task is cancelled at the same moment, it
  // throws, and the notification is lost with it.
  void notify_one() { timer_.cancel_one(); }

  // Returns at the next notification. Throws operation_aborted when its task is cancelled.
  Task<> wait();

  // Returns as soon as the condition holds, which is checked now and after each notification.
  // Throws operation_aborted when its task is cancelled before that. If both happen at once, the
  // condition wins: the task may own something by now. The cancellation then takes effect at its
  // next co_await.
  template <typename Condition>
  Task<> wait_until(Condition holds) {
    while (!holds()) {
      const bool was_cancelled = co_await wait_or_cancelled();
      if (was_cancelled && !holds()) throw_cancelled();
    }
  }

 private:
  friend Task<> until(AsyncEvent& bell, Task<> work);

  Task<bool> wait_or_cancelled();
  [[noreturn]] static void throw_cancelled();

  asio::steady_timer timer_;  // never expires; cancelled by a notification
};

}  // namespace hearth
