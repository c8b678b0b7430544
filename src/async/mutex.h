// async/mutex.h: one task at a time in a stretch that waits in between. First come, first served.
#pragma once

#include "async/task.h"

#include <boost/asio/steady_timer.hpp>

#include <list>
#include <memory>
#include <utility>

namespace hearth {

class Mutex {
 public:
  bool is_locked() const { return locked_; }

  class Lock {
   public:
    Lock() = default;
    explicit Lock(Mutex& mutex) : mutex_(&mutex) {}
    Lock(Lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Lock& operator=(Lock&& other) noexcept {
      std::swap(mutex_, other.mutex_);
      return *this;
    }
    ~Lock() {
      if (mutex_ != nullptr) mutex_->unlock();
    }

   private:
    Mutex* mutex_ = nullptr;
  };

  // The mutex must outlive the task and its lock. A task that is cancelled while it waits gives its
  // place up.
  Task<Lock> lock();

 private:
  struct Waiter {
    explicit Waiter(const asio::any_io_executor& executor);
    asio::steady_timer turn;  // never expires; cancelled when it is this one's turn
    bool has_it = false;
  };
  void unlock();

  bool locked_ = false;
  std::list<Waiter*> waiters_;
};

}  // namespace hearth
