// cli/session_work.h: opens the sessions of this machine's user in this process, does one thing
// with them, and pauses what it has started.
#pragma once

#include "cli/run_plan.h"
#include "runtime/runtime.h"
#include "session/session_manager.h"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace hearth::cli {

inline constexpr const char* local_owner = "local";

class SessionWork {
 public:
  // What is referred to must outlive it.
  SessionWork(const asio::any_io_executor& executor, const RunPlan& plan, const settings::Env& env);

  Task<> open();
  Task<> close();
  session::SessionManager& sessions() { return *sessions_; }

  // Before anything that may start a sandbox of it.
  Task<> start(std::string blueprint);
  // What the configuration and the command line chose.
  const RunPlan& plan() const { return plan_; }

  // A turn that an interrupt asks to end.
  Task<session::RunAnswer> run(std::string id, execution::TurnRequest request,
                               execution::OnEvent on_event);
  // False if nothing runs that could be asked, or it was asked before.
  Task<bool> interrupt();

 private:
  const RunPlan& plan_;
  std::unique_ptr<runtime::Runtime> runtime_;
  session::SessionManager* sessions_ = nullptr;
  std::string running_;  // a session
};

// Returns the exit code of `work`.
using SessionTask = std::function<Task<int>(SessionWork&)>;
int with_sessions(const RunOptions& options, const SessionTask& work);

}  // namespace hearth::cli
