// pool/waiting_line.h: callers that wait for a sandbox, first come first served.
#pragma once

#include "async/event.h"
#include "pool/binding.h"
#include "pool/lease.h"
#include "pool/memory_budget.h"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <exception>
#include <list>
#include <optional>

namespace hearth::pool {

// One caller. It is served once, with a lease or with a failure.
struct Waiter {
  // `wanted` must outlive it.
  Waiter(const asio::any_io_executor& executor, const Binding& wanted, MemoryBudget::Ticket number)
      : binding(wanted), ticket(number), served(executor) {}
  bool is_served() const { return lease.has_value() || failure; }

  const Binding& binding;
  MemoryBudget::Ticket ticket;
  AsyncEvent served;
  std::optional<Lease> lease = {};
  std::exception_ptr failure = {};
};

class WaitingLine {
 public:
  // At its end. The waiter must leave before it is destroyed; a waiter that is served has left.
  void join(Waiter& waiter) { waiters_.push_back(&waiter); }
  // False if it was not in the line.
  bool leave(Waiter& waiter);

  // Does nothing for a waiter that has left.
  void fail(Waiter& waiter, const std::exception_ptr& failure);
  void fail_all(const std::exception_ptr& failure);
  void serve_first(Lease lease);

  bool is_empty() const { return waiters_.empty(); }
  std::size_t size() const { return waiters_.size(); }
  Waiter& first() const { return *waiters_.front(); }

  // How many of the first `most` have such a binding.
  template <typename Predicate>
  std::size_t count_among_first(std::size_t most, Predicate matches) const {
    std::size_t count = 0;
    for (const Waiter* waiter : waiters_) {
      if (most-- == 0) break;
      if (matches(waiter->binding)) ++count;
    }
    return count;
  }

 private:
  std::list<Waiter*> waiters_;
};

}  // namespace hearth::pool
