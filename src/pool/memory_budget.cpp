#include "pool/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace hearth::pool {

MemoryBudget::Share::Share(std::shared_ptr<MemoryBudget> budget, std::uint64_t bytes)
    : budget_(std::move(budget)), bytes_(bytes) {}

MemoryBudget::Share::Share(Share&& other) noexcept
    : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryBudget::Share& MemoryBudget::Share::operator=(Share&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryBudget::Share::~Share() {
  if (budget_) budget_->give_back(bytes_);
}

std::optional<MemoryBudget::Share> MemoryBudget::try_take(Ticket ticket, std::uint64_t bytes) {
  const bool is_first = waiting_.empty() || *waiting_.begin() >= ticket;
  if (!is_first || bytes > total_ - taken_) {
    waiting_.insert(ticket);
    return std::nullopt;
  }
  const bool was_waiting = waiting_.erase(ticket) > 0;
  taken_ += bytes;
  Share share(shared_from_this(), bytes);
  // Another request is the first now, and there may be enough for it, too.
  if (was_waiting && !waiting_.empty() && on_freed_) on_freed_();
  return share;
}

void MemoryBudget::withdraw(Ticket ticket) {
  // Another request may be the first now.
  if (waiting_.erase(ticket) > 0 && on_freed_) on_freed_();
}

void MemoryBudget::give_back(std::uint64_t bytes) {
  taken_ -= bytes;
  if (!waiting_.empty() && on_freed_) on_freed_();
}

std::uint64_t default_memory_budget_bytes(std::optional<std::uint64_t> limit) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t all = pages * page_bytes;
  return std::min(all, limit.value_or(all)) / 10 * 8;
}

}  // namespace hearth::pool
