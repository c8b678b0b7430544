// session/session_types.h: what callers ask of sessions, and the answers.
#pragma once

#include "base/enum_names.h"
#include "execution/background.h"
#include "execution/execution_result.h"
#include "os/unique_fd.h"
#include "pool/binding.h"
#include "session/kept_variables.h"
#include "session/session_details.h"
#include "session/tree_check.h"
#include "store/session_record.h"
#include "store/session_store.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::session {

// Milliseconds since 1970: what is stored outlives the clock of a process.
using WallClock = std::function<std::int64_t()>;
std::int64_t system_wall_clock();

struct SessionOptions {
  std::size_t max_sandboxes = 1000;  // sessions, live and cold together
  std::size_t max_live = 100;
  std::chrono::milliseconds idle_timeout{1'800'000};
  std::chrono::milliseconds sweep_interval{60'000};
  std::chrono::milliseconds gone_for{86'400'000};  // how long a session that is gone is remembered
  SnapshotLimits snapshots{};
  VariableLimits variables{};
  WallClock wall_clock = system_wall_clock;
};

// Where the workspace of a new session comes from.
struct SnapshotOrigin {
  std::string session_id{};
  std::optional<std::int64_t> generation{};  // absent: the latest
};

struct CreateRequest {
  std::string owner{};
  std::string blueprint{};
  SessionDetails details{};
  std::vector<pool::WorkspaceFile> files{};
  std::optional<std::chrono::milliseconds> time_to_live{};
  std::optional<SnapshotOrigin> from{};
  os::UniqueFd archive{};  // or a tar
};

// What may be changed later.
struct SessionPatch {
  std::map<std::string, std::optional<std::string>> labels{};  // merged; nothing removes
  std::map<std::string, std::optional<std::string>> env{};     // for the next sandbox
  std::optional<std::optional<std::chrono::milliseconds>> time_to_live{};  // from now
  std::optional<std::optional<std::chrono::milliseconds>> idle_timeout{};
  std::optional<EndAction> on_idle{};
  std::optional<EndAction> on_expire{};
  std::optional<blueprint::NetworkPolicy> network{};  // for the next sandbox
};

// What became of a session before a call could use it.
enum class ResumeSource {
  warm,      // it was alive
  snapshot,  // its workspace was restored
  fresh,     // it had never been paused: its workspace is empty
};
constexpr auto names_of(ResumeSource /*type*/) {
  return enum_names<ResumeSource>({{ResumeSource::warm, "warm"},
                                   {ResumeSource::snapshot, "snapshot"},
                                   {ResumeSource::fresh, "fresh"}});
}
struct ResumeAnswer {
  ResumeSource source = ResumeSource::warm;
  std::int64_t generation = 0;
  // Its process had ended without a pause: what was done since that generation is lost.
  bool work_lost = false;
  std::vector<std::string> lost_variables{};  // that the session had when it was paused
};

struct PauseAnswer {
  std::int64_t generation = 0;
  bool written = false;                 // false: the workspace is as it was
  std::vector<std::string> left_out{};  // sockets, FIFOs and devices, which no snapshot keeps
  std::vector<std::string> lost_variables{};
  std::vector<std::string> ended_executions{};  // background commands that ran
};

// What becomes of what uses the sandbox beside turns when a caller wants a pause.
enum class Background {
  refuse,  // SessionBusy
  wait,    // until it has ended
  end,     // with the sandbox
};
constexpr auto names_of(Background /*type*/) {
  return enum_names<Background>(
      {{Background::refuse, "refuse"}, {Background::wait, "wait"}, {Background::end, "end"}});
}

enum class WhenBusy { wait, refuse };

struct RunAnswer {
  execution::ExecutionResult result{};
  std::optional<ResumeAnswer> resumed{};  // the session was paused before
  std::string sandbox_id{};
};

struct StartAnswer {
  execution::StartedCommand command{};
  std::optional<ResumeAnswer> resumed{};  // the session was paused before
};

struct SessionView {
  store::SessionRecord record{};
  SessionDetails details{};
  std::vector<std::string> running{};  // executions: a turn, and background commands
};

// As seen from outside.
enum class PublicState { starting, idle, busy, paused };
constexpr auto names_of(PublicState /*type*/) {
  return enum_names<PublicState>({{PublicState::starting, "starting"},
                                  {PublicState::idle, "idle"},
                                  {PublicState::busy, "busy"},
                                  {PublicState::paused, "paused"}});
}
PublicState public_state(store::SessionState state);

struct SessionStats {
  std::size_t total = 0;  // live and cold
  std::size_t cold = 0;
  std::size_t warming = 0;
  std::size_t warm = 0;  // with the idle sandboxes of the pool
  std::size_t waiting = 0;
  std::size_t running = 0;
  std::size_t max_capacity = 0;
  std::uint64_t resume_warm_hits = 0;
  std::uint64_t resume_cold_hits = 0;
};
// With the names that programs know: maxCapacity, resumeWarmHits, ...
std::string to_json(const SessionStats& stats);

}  // namespace hearth::session
