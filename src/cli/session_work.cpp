#include "cli/session_work.h"

#include "base/scope_exit.h"
#include "cli/exit_code.h"
#include "os/descriptor_limit.h"
#include "runtime/delegated_scope.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>
#include <exception>
#include <utility>

namespace hearth::cli {
namespace {

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

Task<> pass_interrupts(SessionWork& work, asio::cancellation_signal& give_up) {
  asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM, SIGHUP);
  while (true) {
    co_await signals.async_wait(asio::use_awaitable);
    if (!co_await work.interrupt()) give_up.emit(asio::cancellation_type::terminal);
  }
}

Task<int> opened(SessionWork& work, const SessionTask& task) {
  co_await work.open();
  co_return co_await task(work);
}

Task<> work_and_close(SessionWork& work, const SessionTask& task, asio::io_context& loop, int& code,
                      std::exception_ptr& failure) {
  try {
    code = co_await opened(work, task);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await work.close();
  loop.stop();
}

}  // namespace

SessionWork::SessionWork(const asio::any_io_executor& executor, const RunPlan& plan,
                         const settings::Env& env)
    : plan_(plan),
      runtime_(runtime::Runtime::open(executor, plan.settings, env,
                                      {.registry = plan.registry,
                                       .limits = backend::Limits::degraded,
                                       .configuration = plan.configuration})) {}

Task<> SessionWork::open() { sessions_ = co_await runtime_->open_sessions(); }

Task<> SessionWork::close() { co_await runtime_->close(); }

Task<> SessionWork::start(std::string blueprint) {
  std::vector<std::string> names{std::move(blueprint)};
  co_await runtime_->pool().startup(std::move(names));
}

Task<session::RunAnswer> SessionWork::run(std::string id, execution::TurnRequest request,
                                          execution::OnEvent on_event) {
  running_ = id;
  const ScopeExit is_over([this] { running_.clear(); });
  co_return co_await sessions_->run(std::move(id), local_owner, std::move(request),
                                    std::move(on_event));
}

Task<bool> SessionWork::interrupt() {
  if (running_.empty()) co_return false;
  co_await sessions_->interrupt(std::exchange(running_, {}), local_owner);
  co_return true;
}

int with_sessions(const RunOptions& options, const SessionTask& task) {
  const settings::Env env = settings::current_env();
  if (options.backend.empty() || options.backend == "native") runtime::enter_delegated_scope(env);
  const RunPlan plan = make_run_plan(options, env);
  log::configure(
      plan.settings.log.level == log::Level::info ? log::Level::warning : plan.settings.log.level,
      plan.settings.log.format);
  os::raise_descriptor_limit();
  asio::io_context loop(1);
  SessionWork work(loop.get_executor(), plan, env);
  int code = exit_code::failure;
  std::exception_ptr failure;
  asio::cancellation_signal give_up;
  asio::co_spawn(loop, pass_interrupts(work, give_up), rethrow);
  asio::co_spawn(loop, work_and_close(work, task, loop, code, failure),
                 asio::bind_cancellation_slot(give_up.slot(), rethrow));
  loop.run();
  rethrow(failure);
  return code;
}

}  // namespace hearth::cli
