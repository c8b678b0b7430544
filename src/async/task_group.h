// async/task_group.h: tasks that run beside their owner and never outlive it.
#pragma once

#include "async/task.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <list>
#include <string>

namespace hearth {

class TaskGroup {
 public:
  explicit TaskGroup(const asio::any_io_executor& executor);
  // All tasks must have ended: close() first.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // What `task` throws is logged with `name`, unless it was cancelled.
  void start(std::string name, Task<> task);
  // Waits for those that run now and those they start.
  Task<> drained();
  // Cancels all, and waits. A task that must finish its work shields itself from cancellation.
  Task<> close();
  std::size_t size() const { return running_.size(); }

 private:
  asio::any_io_executor executor_;
  std::list<asio::cancellation_signal> running_;
  asio::steady_timer one_ended_;  // never expires; cancelled whenever a task has ended
};

}  // namespace hearth
