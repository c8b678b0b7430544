// session/sweep.h: ends sessions that are idle for too long, and those whose time to live has
// passed.
#pragma once

#include "async/clock.h"
#include "async/task_group.h"
#include "session/lifecycle.h"
#include "session/session_table.h"
#include "session/session_types.h"
#include "store/session_store.h"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace hearth::session {

class Sweep {
 public:
  // What is referred to must outlive it.
  Sweep(const asio::any_io_executor& executor, const SessionOptions& options, SessionTable& table,
        Lifecycle& lifecycle, store::SessionStore& store, Clock& clock);

  // Every sweep_interval from now on. May be called again.
  void start();
  void stop();
  // Once, now; nothing if one is on its way. It comes to its end although its task is cancelled.
  Task<> now();
  // After stop(). Waits for one that is on its way.
  Task<> close();

 private:
  void set_alarm();
  Task<bool> sweep();
  bool is_overdue(const Session& session) const;
  Task<> end_idle(std::string id);
  Task<> end_expired(std::string id);
  Task<> end_turn_of_expired(std::string id);

  const SessionOptions& options_;
  SessionTable& table_;
  Lifecycle& lifecycle_;
  store::SessionStore& store_;
  Clock& clock_;
  bool is_sweeping_ = false;
  std::unique_ptr<Clock::Alarm> alarm_;
  TaskGroup background_;
};

}  // namespace hearth::session
