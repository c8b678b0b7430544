#include "pool/sandboxes_by_owner.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hearth::pool {

void SandboxesByOwner::put(const Managed& managed) {
  if (managed->use_count == 0) {
    unused_.push_back(managed);
  } else {
    used_.emplace(*managed->owner, managed);
  }
}

bool SandboxesByOwner::remove(const Managed& managed) {
  if (managed->use_count == 0) return std::erase(unused_, managed) > 0;
  const auto [begin, end] = used_.equal_range(*managed->owner);
  const auto found =
      std::find_if(begin, end, [&](const auto& entry) { return entry.second == managed; });
  if (found == end) return false;
  used_.erase(found);
  return true;
}

SandboxesByOwner::Managed SandboxesByOwner::take(const Owner& owner) {
  const auto [begin, end] = used_.equal_range(owner);
  if (begin != end) return used_.extract(std::prev(end)).mapped();
  if (unused_.empty()) return nullptr;
  Managed newest = std::move(unused_.back());
  unused_.pop_back();
  return newest;
}

SandboxesByOwner::Managed SandboxesByOwner::take_oldest_used() {
  return used_.empty() ? nullptr : used_.extract(used_.begin()).mapped();
}

SandboxesByOwner::Managed SandboxesByOwner::take_oldest() {
  if (unused_.empty()) return take_oldest_used();
  Managed oldest = std::move(unused_.front());
  unused_.pop_front();
  return oldest;
}

std::size_t SandboxesByOwner::count_for(const Owner& owner) const {
  return unused_.size() + used_.count(owner);
}

std::vector<SandboxesByOwner::Managed> SandboxesByOwner::all() const {
  std::vector<Managed> all(unused_.begin(), unused_.end());
  for (const auto& [owner, managed] : used_) all.push_back(managed);
  return all;
}

void SandboxesByOwner::clear() {
  unused_.clear();
  used_.clear();
}

}  // namespace hearth::pool
