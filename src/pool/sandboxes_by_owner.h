// pool/sandboxes_by_owner.h: sandboxes that are idle, or will be soon, by the owner they may be
// leased to. One that was never used may go to any owner, a used one only to the owner that used
// it.
#pragma once

#include "pool/managed_sandbox.h"
#include "pool/owner.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace hearth::pool {

class SandboxesByOwner {
 public:
  using Managed = std::shared_ptr<ManagedSandbox>;

  void put(const Managed& managed);
  // False if it is not among them.
  bool remove(const Managed& managed);

  // Null if there is none for this owner. One that the owner has used before comes first, as its
  // caches are filled; then the newest unused one.
  Managed take(const Owner& owner);
  // Null if all are unused.
  Managed take_oldest_used();
  // Null if there is none. Prefers an unused one: another can be made without its owner.
  Managed take_oldest();

  std::size_t count() const { return unused_.size() + used_.size(); }
  std::size_t used_count() const { return used_.size(); }
  std::size_t count_for(const Owner& owner) const;
  std::vector<Managed> all() const;
  void clear();

 private:
  std::deque<Managed> unused_;          // newest last
  std::multimap<Owner, Managed> used_;  // by owner, of each the newest last
};

}  // namespace hearth::pool
