#include "async/task_group.h"

#include "base/log.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <cassert>
#include <exception>
#include <utility>

namespace hearth {
namespace {

void report(const std::string& name, const std::exception_ptr& failure) try {
  if (failure) std::rethrow_exception(failure);
} catch (const boost::system::system_error& error) {
  if (error.code() == asio::error::operation_aborted) return;
  log::error("background task failed", {{"task", name}, {"error", error.what()}});
} catch (const std::exception& error) {
  log::error("background task failed", {{"task", name}, {"error", error.what()}});
}

}  // namespace

TaskGroup::TaskGroup(const asio::any_io_executor& executor)
    : executor_(executor), one_ended_(executor) {}

TaskGroup::~TaskGroup() { assert(running_.empty()); }

void TaskGroup::start(std::string name, Task<> task) {
  const auto signal = running_.emplace(running_.end());
  const auto ended = [this, signal, name = std::move(name)](const std::exception_ptr& failure) {
    report(name, failure);
    running_.erase(signal);
    one_ended_.notify_all();
  };
  asio::co_spawn(executor_, std::move(task), asio::bind_cancellation_slot(signal->slot(), ended));
}

Task<> TaskGroup::drained() {
  return one_ended_.wait_until([this] { return running_.empty(); });
}

Task<> TaskGroup::close() {
  for (asio::cancellation_signal& signal : running_) signal.emit(asio::cancellation_type::terminal);
  co_await drained();
}

}  // namespace hearth
