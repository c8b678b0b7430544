#include "session/pool_sandboxes.h"

#include "async/within.h"
#include "base/scope_exit.h"
#include "execution/turn.h"
#include "session/sandbox_variables.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace hearth::session {
namespace {

// Those of a command whose reader is slow are over when its last output is given up.
constexpr std::chrono::seconds commands_limit{10};
constexpr std::chrono::milliseconds commands_pause{2};

// Kills all commands, in the background or not, and returns when none of them runs and none of
// `starting` is on its way.
Task<> end_commands(SandboxCommands commands, const std::size_t& starting) {
  const auto deadline = std::chrono::steady_clock::now() + commands_limit;
  asio::steady_timer pause(co_await asio::this_coro::executor);
  for (bool is_first = true; true; is_first = false) {
    bool any = starting > 0;
    for (const wire::CommandInfo& command : co_await commands.list()) {
      if (command.ending) continue;
      any = true;
      // The one ends it for certain, the other at once.
      if (is_first) commands.cancel(command.execution_id);
      commands.signal(command.execution_id, "KILL", true);
    }
    if (!any) co_return;
    if (std::chrono::steady_clock::now() >= deadline)
      throw DeadlineExceeded("the commands of the session did not end in time");
    pause.expires_after(commands_pause);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

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
  Task<> restart_interpreter() override {
    if (!std::exchange(has_variables_, false)) co_return;
    execution::TurnRequest request{.script = "import os\nos._exit(0)\n", .language = "python"};
    request.mode = blueprint::ExecutionMode::interactive;
    co_await execution::run_turn(lease_, std::move(request));
  }

  Task<> end_processes() override {
    may_start_commands_ = false;
    if (std::exchange(had_commands_, false)) {
      co_await end_commands(lease_.commands(), starting_);
      has_variables_ = true;  // what a command has lost of its tree ends with an interpreter
    }
    co_await restart_interpreter();
  }

  void allow_commands() override { may_start_commands_ = true; }

  SandboxFiles files() override { return lease_.files(); }

  execution::Turn command(execution::TurnRequest request, execution::OnEvent on_event,
                          execution::OnOutput on_output) override {
    expect_command();
    return {lease_, std::move(request), std::move(on_event), std::move(on_output)};
  }
  Task<execution::StartedCommand> start(execution::TurnRequest request) override {
    expect_command();
    ++starting_;
    const ScopeExit has_started([this] { --starting_; });
    co_return co_await execution::start_background(lease_, std::move(request));
  }
  Task<> ended(std::string execution_id) override {
    SandboxCommands commands = lease_.commands();
    co_await commands.ended(std::move(execution_id));
  }
  SandboxCommands commands() override { return lease_.commands(); }

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
  void expect_command() {
    if (!may_start_commands_) throw Error("the session is being paused");
    had_commands_ = true;
  }

  pool::Lease lease_;
  execution::Turn* running_ = nullptr;
  bool has_variables_ = false;
  bool had_commands_ = false;
  bool may_start_commands_ = true;
  std::size_t starting_ = 0;
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
