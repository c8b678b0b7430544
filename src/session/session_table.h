// session/session_table.h: the sessions that are live or in use, their states, and which task may
// act on one. Memory is the truth for them; the store is for all others.
//
//   cold ──▶ warming ──▶ warm ──▶ running ◀──▶ waiting
//    ▲          │          │                      │
//    └──────────┴──────────┴──────────────────────┘
#pragma once

#include "async/event.h"
#include "async/mutex.h"
#include "async/task.h"
#include "session/sandboxes.h"
#include "session/session_types.h"
#include "store/session_record.h"

#include <boost/asio/any_io_executor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hearth::session {

using store::SessionState;

bool is_allowed(SessionState from, SessionState to);

struct Session {
  store::SessionRecord record{};
  SessionDetails details{};
  bool is_loaded = false;
  bool is_unsettled = false;               // a write of its record failed, and may have happened
  bool is_recorded_live = false;           // the store knows that it is not cold
  std::shared_ptr<LiveSandbox> sandbox{};  // of a live one; guests keep it while they use it
  std::int64_t basis = 0;                  // the generation its workspace was restored from
  std::int64_t last_tried = 0;             // a generation's number is used once, even if it fails
  bool has_run = false;                    // since then
  std::optional<ResumeAnswer> untold{};    // no call that succeeded has answered with it
  Mutex mailbox{};
  std::size_t users = 0;             // in the mailbox or waiting for it, and guests
  std::size_t guests = 0;            // use its sandbox beside its turns
  std::set<std::string> commands{};  // that run in the background; each has a guest that waits
  std::string turn{};                // the execution that runs now
};

class SessionTable {
 public:
  explicit SessionTable(const asio::any_io_executor& executor) : changed_(executor) {}

  // The right to act on a session. Others wait.
  class Visit {
   public:
    Visit() = default;
    Visit(Visit&& other) noexcept;
    Visit& operator=(Visit&& other) noexcept;
    ~Visit();
    Session& operator*() const { return *session_; }
    Session* operator->() const { return session_.get(); }
    explicit operator bool() const { return session_ != nullptr; }

   private:
    friend class SessionTable;
    Visit(SessionTable& table, std::shared_ptr<Session> session);
    SessionTable* table_ = nullptr;
    std::shared_ptr<Session> session_;
    Mutex::Lock lock_;
  };

  // Use of a live session's sandbox beside its turns: for files, commands and attached clients. It
  // does not give way to others meanwhile.
  class Guest {
   public:
    Guest() = default;
    Guest(SessionTable& table, const Visit& host);
    Guest(Guest&& other) noexcept;
    Guest& operator=(Guest&& other) noexcept;
    ~Guest();
    Session& operator*() const { return *session_; }
    Session* operator->() const { return session_.get(); }

   private:
    friend class SessionTable;
    Guest(SessionTable& table, std::shared_ptr<Session> session);
    SessionTable* table_ = nullptr;
    std::shared_ptr<Session> session_;
  };
  // While a turn runs nothing else has the mailbox, and the sandbox is there. Nothing otherwise.
  std::optional<Guest> beside_turn(const std::string& id);

  // First come, first served; at once, without giving up the loop, if nothing else uses it. The
  // session may not be loaded.
  Task<Visit> enter(std::string id);
  // Nothing if anything uses it, but for background commands where they do not matter.
  Task<Visit> try_enter(std::string id, bool despite_commands = false);
  // It has a turn, or another call that waits for one or changes it.
  bool is_busy(const std::string& id) const;
  bool has_guests(const std::string& id) const;
  Session* find(const std::string& id) const;

  // The only place where a state changes.
  void move(Session& session, SessionState to);

  std::vector<std::string> ids_in(SessionState state) const;
  std::size_t count(SessionState state) const {
    return counts_.at(static_cast<std::size_t>(state));
  }
  std::size_t live() const;
  std::size_t guests() const { return guests_; }
  bool any_commands() const;
  AsyncEvent& changed() { return changed_; }

 private:
  void leave(const std::shared_ptr<Session>& session);

  std::map<std::string, std::shared_ptr<Session>> sessions_;
  std::array<std::size_t, enumerator_count<SessionState>()> counts_{};  // but the cold ones
  std::size_t guests_ = 0;
  AsyncEvent changed_;
};

}  // namespace hearth::session
