// async/alarm.h: calls a function if something else takes too long.
#pragma once

#include "async/task.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace hearth {

// Calls `ring` on the loop after this time, unless it is destroyed before.
class Alarm {
 public:
  Alarm(const asio::any_io_executor& executor, std::chrono::nanoseconds after,
        std::function<void()> ring);

 private:
  asio::steady_timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hearth
