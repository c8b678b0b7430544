#include "pool/waiting_line.h"

#include <algorithm>
#include <utility>

namespace hearth::pool {

bool WaitingLine::leave(Waiter& waiter) {
  // Most often the first one.
  const auto found = std::find(waiters_.begin(), waiters_.end(), &waiter);
  if (found == waiters_.end()) return false;
  waiters_.erase(found);
  return true;
}

void WaitingLine::fail(Waiter& waiter, const std::exception_ptr& failure) {
  if (!leave(waiter)) return;
  waiter.failure = failure;
  waiter.served.notify_all();
}

void WaitingLine::fail_all(const std::exception_ptr& failure) {
  while (!is_empty()) fail(first(), failure);
}

void WaitingLine::serve_first(Lease lease) {
  Waiter& waiter = first();
  waiters_.pop_front();
  waiter.lease.emplace(std::move(lease));
  waiter.served.notify_all();
}

}  // namespace hearth::pool
