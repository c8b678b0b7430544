// session/pool_sandboxes.h: the sandboxes of a pool for sessions.
#pragma once

#include "pool/sandbox_pool.h"
#include "session/sandboxes.h"

namespace hearth::session {

class PoolSandboxes : public Sandboxes {
 public:
  // Must outlive this and its sandboxes.
  explicit PoolSandboxes(pool::SandboxPool& pool) : pool_(pool) {}

  void check(const std::string& blueprint, const pool::CheckoutOptions& options) const override;
  bool has_memory_for(const std::string& blueprint,
                      const pool::CheckoutOptions& options) const override;
  Task<std::unique_ptr<LiveSandbox>> lease(std::string blueprint,
                                           pool::CheckoutOptions options) override;
  std::size_t spares() const override { return pool_.idle_count(); }

 private:
  pool::SandboxPool& pool_;
};

}  // namespace hearth::session
