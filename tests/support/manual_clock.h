// tests/support/manual_clock.h: time that passes when a test says so.
#pragma once

#include "async/clock.h"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <list>
#include <utility>

namespace hearth::test {

class ManualClock : public Clock {
 public:
  Time now() const override { return now_; }

  std::unique_ptr<Alarm> ring_at(Time time, std::function<void()> ring) override {
    return std::make_unique<Entry>(*this, time, std::move(ring));
  }

  // Rings what is due, in order.
  void advance(std::chrono::nanoseconds by) {
    const Time until = now_ + by;
    while (Entry* next = earliest(until)) {
      now_ = std::max(now_, next->time);
      entries_.remove(next);
      std::exchange(next->ring, {})();
    }
    now_ = until;
  }

 private:
  struct Entry : Alarm {
    Entry(ManualClock& owner, Time at, std::function<void()> call)
        : clock(owner), time(at), ring(std::move(call)) {
      clock.entries_.push_back(this);
    }
    ~Entry() override { clock.entries_.remove(this); }
    ManualClock& clock;
    Time time;
    std::function<void()> ring;
  };

  Entry* earliest(Time until) const {
    Entry* found = nullptr;
    for (Entry* entry : entries_)
      if (entry->time <= until && (found == nullptr || entry->time < found->time)) found = entry;
    return found;
  }

  Time now_{std::chrono::hours(1)};
  std::list<Entry*> entries_;
};

}  // namespace hearth::test
