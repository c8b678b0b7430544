#include "pool/lease.h"

#include "pool/fleet.h"

#include <utility>

namespace hearth::pool {

Lease::Lease(std::shared_ptr<Fleet> fleet, std::shared_ptr<ManagedSandbox> sandbox,
             MemoryBudget::Share memory)
    : fleet_(std::move(fleet)), managed_(std::move(sandbox)), memory_(std::move(memory)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(fleet_, other.fleet_);
  std::swap(managed_, other.managed_);
  std::swap(memory_, other.memory_);
  std::swap(binding_, other.binding_);
  std::swap(kind_, other.kind_);
  return *this;
}

Lease::~Lease() {
  if (!fleet_) return;
  managed_->memory = std::move(memory_);
  fleet_->give_back(managed_);
}

}  // namespace hearth::pool
