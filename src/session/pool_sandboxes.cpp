#include "session/pool_sandboxes.h"

#include "execution/turn.h"
#include "session/sandbox_variables.h"

#include <cstdint>
#include <limits>
#include <utility>

namespace hearth::session {
namespace {

class LeasedSandbox : public LiveSandbox {
 public:
  explicit LeasedSandbox(pool::Lease lease) : lease_(std::move(lease)) {}

  const std::string& id() const override { return lease_.sandbox_id(); }

  Task<execution::ExecutionResult> run(execution::TurnRequest request,
                                       execution::OnEvent on_event) override {
    const auto mode = request.mode.value_or(lease_.binding().mode);
    if (mode == blueprint::ExecutionMode::interactive) has_variables_ = true;
    execution::Turn turn(lease_, std::move(request), std::move(on_event));
    running_ = &turn;
    struct Forget {
      execution::Turn*& running;
      ~Forget() { running = nullptr; }
    } const forget{running_};
    co_return co_await turn.finished();
  }

  Task<> cancel() override {
    if (running_ != nullptr) co_await running_->cancel();
  }

  // The interpreter ends, and init ends what it has left behind.
  Task<> end_processes() override {
    if (!std::exchange(has_variables_, false)) co_return;
    execution::TurnRequest request{.script = "import os\nos._exit(0)\n"};
    request.mode = blueprint::ExecutionMode::interactive;
    co_await execution::run_turn(lease_, std::move(request));
  }

  SandboxFiles files() override { return lease_.files(); }

  Task<KeptVariables> keep_variables(VariableLimits limits) override {
    if (!has_variables_) co_return KeptVariables{};
    co_return co_await session::keep_variables(lease_, limits);
  }
  Task<std::vector<std::string>> restore_variables(const KeptVariables& variables,
                                                   VariableLimits limits) override {
    has_variables_ = has_variables_ || !variables.pickle.empty();
    co_return co_await session::restore_variables(lease_, variables, limits);
  }

  Task<std::unique_ptr<TreeReader>> read_tree() override {
    // Its reader knows how much a snapshot may hold, and abandons what is more.
    constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
    SandboxFiles files = lease_.files();
    co_return co_await files.read_tree(".", {.max_entries = any, .max_bytes = any});
  }
  Task<> write_tree(TreeReader& tree) override {
    SandboxFiles files = lease_.files();
    co_await files.write_tree(".", tree);
  }

  bool is_gone() const override { return lease_.is_over(); }
  void kill() override {
    lease_.mark_unusable();
    lease_.sandbox().kill();
  }
  Task<> end() override {
    kill();
    co_await lease_.ended();
  }

 private:
  pool::Lease lease_;
  execution::Turn* running_ = nullptr;
  bool has_variables_ = false;
};

}  // namespace

void PoolSandboxes::check(const std::string& blueprint,
                          const pool::CheckoutOptions& options) const {
  pool_.check(blueprint, options);
}

bool PoolSandboxes::has_memory_for(const std::string& blueprint,
                                   const pool::CheckoutOptions& options) const {
  return pool_.has_memory_for(blueprint, options);
}

Task<std::unique_ptr<LiveSandbox>> PoolSandboxes::lease(std::string blueprint,
                                                        pool::CheckoutOptions options) {
  options.beyond_capacity = true;
  co_return std::make_unique<LeasedSandbox>(
      co_await pool_.checkout(std::move(blueprint), std::move(options)));
}

}  // namespace hearth::session
