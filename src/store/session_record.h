// store/session_record.h: what outlives a process of a session.
#pragma once

#include "base/enum_names.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::store {

enum class SessionState {
  cold,     // no process; a record and, if it was ever paused, a snapshot
  warming,  // its sandbox is being made
  warm,     // ready, and nothing has run yet
  waiting,  // between turns
  running,  // a turn runs
};
constexpr auto names_of(SessionState /*type*/) {
  return enum_names<SessionState>({{SessionState::cold, "cold"},
                                   {SessionState::warming, "warming"},
                                   {SessionState::warm, "warm"},
                                   {SessionState::waiting, "waiting"},
                                   {SessionState::running, "running"}});
}
constexpr std::string_view name_of(SessionState state) { return enum_name(state); }

// Times are milliseconds since 1970.
struct SessionRecord {
  std::string id{};
  std::string owner{};
  std::string blueprint{};
  SessionState state = SessionState::cold;
  std::int64_t generation = 0;  // of its snapshot; 0: it has none. Each write carries it
  std::int64_t created_at = 0;
  std::int64_t last_used_at = 0;
  std::optional<std::int64_t> expires_at{};
  bool interrupted = false;  // its process ended without a pause: what was done since is lost
  std::string details{};     // JSON; the store does not look into it
  bool operator==(const SessionRecord&) const = default;
};

std::string new_session_id();
bool is_session_id(std::string_view text);

// What is left of a session that is gone, so that a later use is told so.
struct Tombstone {
  std::string id{};
  std::string owner{};
  std::int64_t removed_at = 0;
  std::string reason{};
  bool operator==(const Tombstone&) const = default;
};

}  // namespace hearth::store
