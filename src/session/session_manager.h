// session/session_manager.h: sessions: identities that outlive their sandboxes. A conversation
// comes back after an hour, a restart or a crash and finds its files.
//
// Each session has one mailbox: what is asked of it happens one after the other. All of it belongs
// to one loop. A task that is cancelled while it waits in a mailbox has done nothing; later the
// work goes on to its end, but for a turn, whose sandbox is killed.
#pragma once

#include "async/clock.h"
#include "async/task_group.h"
#include "session/errors.h"
#include "session/lifecycle.h"
#include "session/sandboxes.h"
#include "session/session_table.h"
#include "session/session_types.h"
#include "session/snapshots.h"
#include "session/sweep.h"
#include "store/session_store.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::session {

// Must not outlive the sandbox, which the caller keeps.
using SandboxWork = std::function<Task<>(LiveSandbox&)>;

// `owner` in all of these: the session's, or empty for callers that may use every session.
class SessionManager {
 public:
  // What is referred to must outlive it. `snapshots`: the directory for them.
  SessionManager(const asio::any_io_executor& executor, SessionOptions options,
                 std::unique_ptr<store::SessionStore> store, std::filesystem::path snapshots,
                 Sandboxes& sandboxes, Clock& clock);
  // After close().
  ~SessionManager();
  SessionManager(const SessionManager&) = delete;
  SessionManager& operator=(const SessionManager&) = delete;

  // Before anything else: nothing of an earlier process is alive. Returns how many of its sessions
  // had been.
  Task<std::size_t> init();

  // pool::CapacityReached if there is room for no more: all that could give way are running.
  Task<SessionView> create(CreateRequest request);
  // One turn. Resumes a session that is paused. What it throws instead of a result: what a resume
  // throws, SessionBusy, ConfigError.
  Task<RunAnswer> run(std::string id, std::string owner, execution::TurnRequest request,
                      execution::OnEvent on_event = {}, WhenBusy when_busy = WhenBusy::wait);
  // Calls `work` with the session's sandbox, which it may use beside turns: its files(). Resumes a
  // session that is paused; the answer says so. Meanwhile the session counts as used: it is not
  // idle and does not give way to others. If its sandbox ends, `work` fails as any use of it does.
  Task<std::optional<ResumeAnswer>> use(std::string id, std::string owner, SandboxWork work);
  // Asks the turn that runs in it now to end.
  Task<> interrupt(const std::string& id, const std::string& owner);
  // A command in the background, which goes on when this returns, beside turns and over a restart.
  // While it runs the session counts as used. It ends with the sandbox: of a pause that is told so,
  // an eviction when nothing else can give way, the time to live. Resumes a session that is paused.
  // What it throws: execution::start_background. use() gives the commands to read and end it.
  Task<StartAnswer> start(std::string id, std::string owner, execution::TurnRequest request);
  // Those that run, and those in the background that have ended. None of a paused session.
  Task<std::vector<wire::CommandInfo>> commands(std::string id, std::string owner);
  // The interpreter afresh: variables are gone, files and background commands stay. Resumes a
  // session that is paused.
  Task<std::optional<ResumeAnswer>> restart(std::string id, std::string owner);

  // Waits for a turn that runs. A task that is cancelled while it waits has done nothing.
  Task<PauseAnswer> pause(std::string id, std::string owner,
                          Background background = Background::refuse);
  Task<ResumeAnswer> resume(std::string id, std::string owner,
                            std::optional<std::int64_t> generation = std::nullopt);
  Task<> remove(std::string id, std::string owner);
  Task<SessionView> get(std::string id, std::string owner);
  Task<std::vector<SessionView>> list(store::ListQuery query);
  Task<SessionView> update(std::string id, std::string owner, SessionPatch patch);
  // The workspace as tar and zstd; returns the links that lead out of it, which are left out.
  Task<std::vector<std::string>> export_to(std::string id, std::string owner, int fd,
                                           std::string name);

  // Looks after sessions that are idle for too long or whose time to live has passed, every
  // sweep_interval. May be called again.
  void start_idle_sweep() { sweep_.start(); }
  void stop_idle_sweep() { sweep_.stop(); }
  // Once, now.
  Task<> sweep() { return sweep_.now(); }

  SessionStats stats() const;

  // No more calls. Turns that run have `drain` to end. Everything live is paused.
  Task<> close(std::chrono::milliseconds drain = {});

 private:
  using Visit = SessionTable::Visit;

  Task<Visit> enter(std::string id, std::string owner);
  Task<SessionView> create_now(CreateRequest request);
  void fill_record(Session& session, CreateRequest& request);
  Task<std::unique_ptr<TreeReader>> origin_of(CreateRequest& request);
  Task<> make_live(Session& session);
  Task<> resume_cold(Session& session, std::optional<std::int64_t> generation);
  Task<> end_turn(Session& session, bool is_usable);
  static Task<> cancel_turn(std::shared_ptr<LiveSandbox> sandbox);
  Task<SessionTable::Guest> welcome(std::string id, std::string owner,
                                    std::optional<ResumeAnswer>& resumed);
  Task<execution::StartedCommand> start_now(SessionTable::Guest guest,
                                            std::shared_ptr<LiveSandbox> sandbox,
                                            execution::TurnRequest request);
  Task<> watch(SessionTable::Guest guest, std::shared_ptr<LiveSandbox> sandbox,
               std::string execution_id);
  void note_use(const SessionTable::Guest& guest);
  static SessionView view_of(const Session& session);
  Task<PauseAnswer> pause_now(Visit visit);
  Task<ResumeAnswer> resume_now(Visit visit, std::optional<std::int64_t> generation);
  Task<SessionView> update_now(Visit visit, SessionPatch patch);
  Task<std::vector<std::string>> export_now(Visit visit, int fd, std::string name);
  Task<std::optional<ResumeAnswer>> restart_now(Visit visit);
  void refuse_expired(const Session& session) const;

  Task<bool> close_now(std::chrono::milliseconds drain);
  Task<> none_running();
  Task<> close_session(std::string id);

  SessionOptions options_;
  std::unique_ptr<store::SessionStore> store_;
  Snapshots snapshots_;
  Sandboxes& sandboxes_;
  SessionTable table_;
  Lifecycle lifecycle_;
  Sweep sweep_;
  std::uint64_t warm_hits_ = 0;
  std::uint64_t cold_hits_ = 0;
  bool is_closed_ = false;
  TaskGroup background_;
};

}  // namespace hearth::session
