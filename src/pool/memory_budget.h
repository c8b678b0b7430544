// pool/memory_budget.h: how much of the machine's memory sandboxes may be promised. A promise is a
// limit, not what a sandbox uses. So no load can push the machine into its out-of-memory killer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

namespace hearth::pool {

class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  // Goes back when it is destroyed.
  class Share {
   public:
    Share() = default;
    Share(std::shared_ptr<MemoryBudget> budget, std::uint64_t bytes);
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;
    ~Share();

   private:
    std::shared_ptr<MemoryBudget> budget_;
    std::uint64_t bytes_ = 0;
  };

  explicit MemoryBudget(std::uint64_t bytes) : total_(bytes) {}

  // First come, first served, however much is wanted: a small request does not overtake a large one
  // that waits.
  using Ticket = std::uint64_t;
  Ticket next_ticket() { return ++last_ticket_; }
  // Nothing if the request has to wait. It then stands in line until it succeeds or is withdrawn.
  std::optional<Share> try_take(Ticket ticket, std::uint64_t bytes);
  void withdraw(Ticket ticket);

  // Called, without arguments, whenever there may be more to take.
  void on_freed(std::function<void()> call) { on_freed_ = std::move(call); }

  std::uint64_t total_bytes() const { return total_; }
  std::uint64_t taken_bytes() const { return taken_; }

 private:
  void give_back(std::uint64_t bytes);

  std::uint64_t total_;
  std::uint64_t taken_ = 0;
  Ticket last_ticket_ = 0;
  std::set<Ticket> waiting_;
  std::function<void()> on_freed_;
};

// Eight tenths of this machine's memory, or of `limit` if that is less.
std::uint64_t default_memory_budget_bytes(std::optional<std::uint64_t> limit);

}  // namespace hearth::pool
