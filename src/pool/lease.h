// pool/lease.h: the right to use one sandbox, from checkout to the end of this object.
#pragma once

#include "channel/sandbox_commands.h"
#include "channel/sandbox_files.h"
#include "pool/binding.h"
#include "pool/managed_sandbox.h"
#include "pool/memory_budget.h"
#include "pool/pool_stats.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hearth::pool {

class Fleet;

class Lease {
 public:
  Lease() = default;  // of nothing
  Lease(std::shared_ptr<Fleet> fleet, std::shared_ptr<ManagedSandbox> sandbox,
        MemoryBudget::Share memory);
  Lease(Lease&& other) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  // Returns the sandbox to its pool, which cleans or replaces it later.
  ~Lease();

  const std::string& sandbox_id() const { return managed_->sandbox->id(); }
  backend::Sandbox& sandbox() { return *managed_->sandbox; }
  // Its files, also while a turn runs. No longer than the lease.
  SandboxFiles files() { return SandboxFiles(sandbox().channel()); }
  // Its commands; execution/turn.h and execution/background.h start them. No longer than the lease.
  SandboxCommands commands() { return SandboxCommands(sandbox().channel()); }
  const Binding& binding() const { return *binding_; }
  CheckoutKind kind() const { return kind_; }
  // The number of leases of this sandbox, including this one.
  std::uint64_t use_count() const { return managed_->use_count; }

  // The sandbox is not reused after this lease: its state is unknown.
  void mark_unusable() { managed_->unusable = true; }

  // True if no turn can run in it any more.
  bool is_over() const { return managed_->gone || managed_->unusable; }
  // Returns when none of its processes is left. The lease must outlive the task.
  Task<> ended() const;

 private:
  friend class Fleet;

  std::shared_ptr<Fleet> fleet_;
  std::shared_ptr<ManagedSandbox> managed_;
  MemoryBudget::Share memory_;
  std::optional<Binding> binding_;  // absent only while the lease is being made
  CheckoutKind kind_ = CheckoutKind::warm;
};

}  // namespace hearth::pool
