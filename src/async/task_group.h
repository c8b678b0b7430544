// async/task_group.h: tasks that run beside their owner and never outlive it.
#pragma once

#include "async/event.h"
#include "async/task.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

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

  // What `task` throws is logged with `name`; a cancellation is not.
  void start(std::string name, Task<> task);
  // Waits for the tasks that run now and those they start.
  Task<> drained();
  // Cancels all tasks and waits for them. A task that must finish its work shields itself from
  // cancellation.
  Task<> close();
  std::size_t size() const { return running_.size(); }

 private:
  asio::any_io_executor executor_;
  std::list<asio::cancellation_signal> running_;
  AsyncEvent one_ended_;
};

}  // namespace hearth
