// tests/support/held_turn.h: a turn of a session over fake sandboxes that stays on its way until it
// is released.
#pragma once

#include "async/event.h"
#include "async/task_group.h"
#include "tests/support/open_sessions.h"

#include <string>

namespace hearth::test {

class HeldTurn {
 public:
  HeldTurn(OpenSessions& sessions, const std::string& id)
      : sessions_(sessions),
        release_(sessions.loop().get_executor()),
        tasks_(sessions.loop().get_executor()) {
    sessions_.world.trouble = [this](const std::string& step) { return hold(step); };
    tasks_.start("a held turn", run(id));
    while (!is_held_) sessions_.loop().run_one();
    sessions_.world.trouble = {};
  }
  ~HeldTurn() { release(); }
  void release() {
    is_released_ = true;
    release_.notify_all();
    sessions_.run(tasks_.drained());
  }

 private:
  Task<> hold(std::string step) {
    if (step != "run") co_return;
    is_held_ = true;
    co_await release_.wait_until([this] { return is_released_; });
  }
  Task<> run(std::string id) { co_await sessions_->run(id, "ann", {.script = "nothing"}); }

  OpenSessions& sessions_;
  AsyncEvent release_;
  TaskGroup tasks_;
  bool is_held_ = false;
  bool is_released_ = false;
};

}  // namespace hearth::test
