// async/clock.h: where time comes from, so that tests can make it pass without waiting for it.
#pragma once

#include "async/task.h"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace hearth {

class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Rings once, on the loop, unless it is destroyed before.
  class Alarm {
   public:
    virtual ~Alarm() = default;
  };

  virtual ~Clock() = default;
  virtual Time now() const = 0;
  virtual std::unique_ptr<Alarm> ring_at(Time time, std::function<void()> ring) = 0;

  // Throws system_error when it is cancelled.
  Task<> sleep_until(Time time);
};

class SystemClock : public Clock {
 public:
  explicit SystemClock(asio::any_io_executor executor);
  Time now() const override { return std::chrono::steady_clock::now(); }
  std::unique_ptr<Alarm> ring_at(Time time, std::function<void()> ring) override;

 private:
  asio::any_io_executor executor_;
};

}  // namespace hearth
