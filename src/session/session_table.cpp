#include "session/session_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hearth::session {

bool is_allowed(SessionState from, SessionState to) {
  using enum SessionState;
  switch (from) {
    case cold:
      return to == warming;
    case warming:
      return to == warm || to == cold;
    case warm:
      return to == running || to == cold;
    case running:
      return to == waiting;
    case waiting:
      return to == running || to == cold;
  }
  return false;
}

SessionTable::Visit::Visit(SessionTable& table, std::shared_ptr<Session> session)
    : table_(&table), session_(std::move(session)) {
  ++session_->users;
}

SessionTable::Visit::Visit(Visit&& other) noexcept
    : table_(other.table_), session_(std::move(other.session_)), lock_(std::move(other.lock_)) {}

SessionTable::Visit& SessionTable::Visit::operator=(Visit&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(session_, other.session_);
  std::swap(lock_, other.lock_);
  return *this;
}

SessionTable::Visit::~Visit() {
  if (!session_) return;
  lock_ = Mutex::Lock();
  table_->leave(session_);
}

SessionTable::Guest::Guest(SessionTable& table, std::shared_ptr<Session> session)
    : table_(&table), session_(std::move(session)) {
  ++session_->users;
  ++session_->guests;
  ++table_->guests_;
}

SessionTable::Guest::Guest(SessionTable& table, const Visit& host) : Guest(table, host.session_) {}

SessionTable::Guest::Guest(Guest&& other) noexcept
    : table_(other.table_), session_(std::move(other.session_)) {}

SessionTable::Guest& SessionTable::Guest::operator=(Guest&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(session_, other.session_);
  return *this;
}

SessionTable::Guest::~Guest() {
  if (!session_) return;
  --session_->guests;
  --table_->guests_;
  table_->leave(session_);
}

std::optional<SessionTable::Guest> SessionTable::beside_turn(const std::string& id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return std::nullopt;
  const Session& session = *found->second;
  const bool is_there =
      session.record.state == SessionState::running && !session.sandbox->is_gone();
  if (!is_there) return std::nullopt;
  return Guest(*this, found->second);
}

void SessionTable::leave(const std::shared_ptr<Session>& session) {
  // What the store may not know is only here.
  const bool is_needed = session->record.state != SessionState::cold || session->is_unsettled;
  if (--session->users == 0 && !is_needed) sessions_.erase(session->record.id);
  changed_.notify_all();
}

Task<SessionTable::Visit> SessionTable::enter(std::string id) {
  std::shared_ptr<Session>& session = sessions_[id];
  if (!session) {
    session = std::make_shared<Session>();
    session->record.id = id;
  }
  Visit visit(*this, session);
  visit.lock_ = co_await visit->mailbox.lock();
  co_return visit;
}

Task<SessionTable::Visit> SessionTable::try_enter(std::string id, bool despite_commands) {
  const Session* present = find(id);
  const std::size_t allowed = present != nullptr && despite_commands ? present->commands.size() : 0;
  if (present != nullptr && present->users > allowed) co_return Visit();
  co_return co_await enter(std::move(id));  // at once
}

Session* SessionTable::find(const std::string& id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

bool SessionTable::is_busy(const std::string& id) const {
  const Session* session = find(id);
  return session != nullptr && session->users > session->guests;
}

bool SessionTable::has_guests(const std::string& id) const {
  const Session* session = find(id);
  return session != nullptr && session->guests > 0;
}

bool SessionTable::any_commands() const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& one) { return !one.second->commands.empty(); });
}

void SessionTable::move(Session& session, SessionState to) {
  const SessionState from = std::exchange(session.record.state, to);
  assert(is_allowed(from, to));
  if (from != SessionState::cold) --counts_.at(static_cast<std::size_t>(from));
  if (to != SessionState::cold) ++counts_.at(static_cast<std::size_t>(to));
  changed_.notify_all();
}

std::vector<std::string> SessionTable::ids_in(SessionState state) const {
  std::vector<std::string> ids;
  for (const auto& [id, session] : sessions_)
    if (session->record.state == state) ids.push_back(id);
  return ids;
}

std::size_t SessionTable::live() const {
  std::size_t live = 0;
  for (const std::size_t count : counts_) live += count;
  return live;
}

}  // namespace hearth::session
