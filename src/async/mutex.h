// async/mutex.h: lets one task at a time into code that awaits. First come, first served.
#pragma once

#include "async/event.h"
#include "async/task.h"

#include <list>
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

  // The mutex must outlive the task and its lock. A task that is cancelled while it waits leaves
  // the line.
  Task<Lock> lock();

 private:
  struct Waiter {
    AsyncEvent served;
    bool has_lock = false;
  };
  void unlock();

  bool locked_ = false;
  std::list<Waiter*> waiters_;
};

}  // namespace hearth
