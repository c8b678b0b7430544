#include "session/session_manager.h"

#include "async/shielded.h"
#include "async/within.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "pool/errors.h"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace hearth::session {
namespace {

void merge(std::map<std::string, std::string>& into,
           const std::map<std::string, std::optional<std::string>>& patch) {
  for (const auto& [key, value] : patch) {
    if (value) {
      into[key] = *value;
    } else {
      into.erase(key);
    }
  }
}

void log_stats(const SessionStats& stats) {
  log::info("sessions are closed", {{"total", stats.total},
                                    {"cold", stats.cold},
                                    {"warming", stats.warming},
                                    {"warm", stats.warm},
                                    {"waiting", stats.waiting},
                                    {"running", stats.running},
                                    {"maxCapacity", stats.max_capacity},
                                    {"resumeWarmHits", stats.resume_warm_hits},
                                    {"resumeColdHits", stats.resume_cold_hits}});
}

class EmptyTree : public TreeReader {
 public:
  Task<std::optional<TreeEntry>> next() override { co_return std::nullopt; }
  Task<std::string> read() override { co_return std::string(); }
};

}  // namespace

SessionManager::SessionManager(const asio::any_io_executor& executor, SessionOptions options,
                               std::unique_ptr<store::SessionStore> store,
                               std::filesystem::path snapshots, Sandboxes& sandboxes, Clock& clock)
    : options_(std::move(options)),
      store_(std::move(store)),
      snapshots_(std::move(snapshots), options_.snapshots),
      sandboxes_(sandboxes),
      table_(executor),
      lifecycle_(options_, table_, *store_, snapshots_, sandboxes_),
      sweep_(executor, options_, table_, lifecycle_, *store_, clock),
      background_(executor) {}

SessionManager::~SessionManager() = default;

Task<std::size_t> SessionManager::init() { co_return co_await shielded(lifecycle_.start()); }

Task<SessionTable::Visit> SessionManager::enter(std::string id, std::string owner) {
  if (is_closed_) throw pool::PoolClosed("sessions are shut down");
  Visit visit = co_await table_.enter(std::move(id));
  const bool is_ready = visit->is_loaded && !visit->is_unsettled;
  if (is_ready) {
    co_await lifecycle_.load(*visit, std::move(owner));
  } else {
    co_await shielded(lifecycle_.load(*visit, std::move(owner)));
  }
  co_return visit;
}

// ---- create

Task<SessionView> SessionManager::create(CreateRequest request) {
  co_return co_await shielded(create_now(std::move(request)));
}

Task<SessionView> SessionManager::create_now(CreateRequest request) {
  if (is_closed_) throw pool::PoolClosed("sessions are shut down");
  if (request.owner.empty()) throw Error("a session needs an owner");
  sandboxes_.check(request.blueprint, checkout_options(request.details));
  const std::unique_ptr<TreeReader> origin = co_await origin_of(request);
  co_await lifecycle_.reserve_entry();
  const Visit visit = co_await table_.enter(store::new_session_id());
  bool is_stored = false;
  std::exception_ptr failure;
  try {
    fill_record(*visit, request);
    co_await lifecycle_.insert(*visit);
    is_stored = true;
    if (origin) co_await lifecycle_.adopt(*visit, *origin);
    co_await lifecycle_.resume(*visit, std::move(request.files), std::nullopt);
  } catch (...) {
    failure = std::current_exception();
  }
  visit->untold.reset();
  if (!failure) co_return view_of(*visit);
  // Nothing of it is left, not even a tombstone that a caller could know.
  const std::string id = visit->record.id;
  try {
    if (is_stored) {
      co_await lifecycle_.remove(*visit, "was never started");
    } else {
      co_await lifecycle_.give_up(*visit);
    }
  } catch (const Error& error) {
    log::warning("session that did not start was not removed",
                 {{"session", id}, {"error", error.what()}});
  }
  std::rethrow_exception(failure);
}

void SessionManager::fill_record(Session& session, CreateRequest& request) {
  store::SessionRecord& record = session.record;
  record.owner = request.owner;
  record.blueprint = request.blueprint;
  record.created_at = record.last_used_at = lifecycle_.now();
  if (request.time_to_live) record.expires_at = record.created_at + request.time_to_live->count();
  session.details = std::move(request.details);
}

Task<std::unique_ptr<TreeReader>> SessionManager::origin_of(CreateRequest& request) {
  if (request.archive)
    co_return co_await snapshots_.open_tar(std::move(request.archive), "the archive");
  if (!request.from) co_return nullptr;
  const Visit other = co_await enter(request.from->session_id, request.owner);
  const std::int64_t generation = request.from->generation.value_or(other->record.generation);
  if (generation == 0)
    throw Error("the session " + other->record.id + " has no snapshot yet; pause it first");
  co_return co_await snapshots_.open(other->record.id, generation);
}

// ---- run

Task<> SessionManager::resume_cold(Session& session, std::optional<std::int64_t> generation) {
  co_await lifecycle_.resume(session, {}, generation);
  ++cold_hits_;
}

Task<> SessionManager::make_live(Session& session) {
  if (session.sandbox && session.sandbox->is_gone()) co_await lifecycle_.lose(session);
  if (session.record.state == SessionState::cold) co_await resume_cold(session, std::nullopt);
}

// The sweep deletes it soon, and waits in the mailbox.
void SessionManager::refuse_expired(const Session& session) const {
  if (lifecycle_.is_expired(session) && session.details.on_expire == EndAction::remove)
    throw SessionGone(session.record.id, "its time to live has passed", lifecycle_.now());
}

SessionView SessionManager::view_of(const Session& session) {
  SessionView view{session.record, session.details, {}};
  if (!session.turn.empty()) view.running.push_back(session.turn);
  view.running.insert(view.running.end(), session.commands.begin(), session.commands.end());
  return view;
}

Task<RunAnswer> SessionManager::run(std::string id, std::string owner,
                                    execution::TurnRequest request, execution::OnEvent on_event,
                                    WhenBusy when_busy) {
  if (when_busy == WhenBusy::refuse && table_.is_busy(id)) throw SessionBusy(id);
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  Session& session = *visit;
  refuse_expired(session);
  RunAnswer answer;
  const bool is_live = session.sandbox && !session.sandbox->is_gone();
  if (!is_live) co_await shielded(make_live(session));
  answer.resumed = session.untold;
  // Before anything is awaited: no sweep may come between.
  table_.move(session, SessionState::running);
  session.has_run = true;
  session.record.last_used_at = lifecycle_.now();
  store_->mark(session.record);
  answer.sandbox_id = session.sandbox->id();
  if (!request.mode) request.mode = session.details.mode;
  if (request.execution_id.empty()) request.execution_id = random_id();
  session.turn = request.execution_id;
  std::exception_ptr failure;
  try {
    answer.result = co_await session.sandbox->run(std::move(request), std::move(on_event));
  } catch (...) {
    failure = std::current_exception();
  }
  const bool is_usable = failure ? !session.sandbox->is_gone() : answer.result.sandbox_usable;
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await shielded(end_turn(session, is_usable));
  co_await asio::this_coro::throw_if_cancelled(true);
  if (failure) std::rethrow_exception(failure);
  session.untold.reset();
  co_return answer;
}

// Files and commands do not wait for a turn, but for what changes the session.
Task<SessionTable::Guest> SessionManager::welcome(std::string id, std::string owner,
                                                  std::optional<ResumeAnswer>& resumed) {
  if (is_closed_) throw pool::PoolClosed("sessions are shut down");
  if (std::optional<SessionTable::Guest> guest = table_.beside_turn(id)) {
    if (!owner.empty() && (*guest)->record.owner != owner) throw SessionNotFound(id);
    co_return *std::move(guest);
  }
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  refuse_expired(*visit);
  co_await shielded(make_live(*visit));
  resumed = visit->untold;
  visit->has_run = true;
  if (visit->record.state == SessionState::warm) {  // from now on it is used, and can be idle
    table_.move(*visit, SessionState::running);
    table_.move(*visit, SessionState::waiting);
    visit->record.last_used_at = lifecycle_.now();
    store_->mark(visit->record);
  }
  co_return SessionTable::Guest(table_, visit);
}

// What is in the mailbox writes for itself what became of the session.
void SessionManager::note_use(const SessionTable::Guest& guest) {
  guest->record.last_used_at = lifecycle_.now();
  const bool is_live = guest->record.state != SessionState::cold;
  if (is_live && guest->users == guest->guests) store_->mark(guest->record);
}

Task<std::optional<ResumeAnswer>> SessionManager::use(std::string id, std::string owner,
                                                      SandboxWork work) {
  std::optional<ResumeAnswer> resumed;
  const SessionTable::Guest guest = co_await welcome(std::move(id), std::move(owner), resumed);
  // The sandbox may leave the session meanwhile, but does not vanish.
  const std::shared_ptr<LiveSandbox> sandbox = guest->sandbox;
  const ScopeExit was_used([this, &guest] { note_use(guest); });
  co_await work(*sandbox);
  if (resumed && guest->sandbox == sandbox) guest->untold.reset();
  co_return resumed;
}

// ---- background commands

Task<StartAnswer> SessionManager::start(std::string id, std::string owner,
                                        execution::TurnRequest request) {
  StartAnswer answer;
  SessionTable::Guest guest = co_await welcome(std::move(id), std::move(owner), answer.resumed);
  // Now: a pause may come before anything that is awaited, and take it away.
  std::shared_ptr<LiveSandbox> sandbox = guest->sandbox;
  answer.command =
      co_await shielded(start_now(std::move(guest), std::move(sandbox), std::move(request)));
  co_return answer;
}

Task<execution::StartedCommand> SessionManager::start_now(SessionTable::Guest guest,
                                                          std::shared_ptr<LiveSandbox> sandbox,
                                                          execution::TurnRequest request) {
  const execution::StartedCommand command = co_await sandbox->start(std::move(request));
  if (guest->sandbox == sandbox) {
    guest->commands.insert(command.execution_id);
    guest->untold.reset();
  }
  background_.start("watch a background command",
                    watch(std::move(guest), sandbox, command.execution_id));
  co_return command;
}

// As long as the command runs it is a guest of its session.
Task<> SessionManager::watch(SessionTable::Guest guest, std::shared_ptr<LiveSandbox> sandbox,
                             std::string execution_id) {
  const ScopeExit is_over([&] {
    if (guest->sandbox == sandbox) guest->commands.erase(execution_id);
    note_use(guest);
  });
  try {
    co_await sandbox->ended(execution_id);
  } catch (const Error& error) {
    log::debug("background command ended with its sandbox",
               {{"session", guest->record.id}, {"error", error.what()}});
  }
}

Task<std::vector<wire::CommandInfo>> SessionManager::commands(std::string id, std::string owner) {
  co_await get(id, std::move(owner));  // it is there, and the caller's
  const Session* session = table_.find(id);
  const std::shared_ptr<LiveSandbox> sandbox = session == nullptr ? nullptr : session->sandbox;
  std::vector<wire::CommandInfo> commands;
  if (!sandbox) co_return commands;
  try {
    commands = co_await sandbox->commands().list();
  } catch (const Error&) {
    if (!sandbox->is_gone()) throw;
  }
  co_return commands;
}

Task<> SessionManager::end_turn(Session& session, bool is_usable) {
  session.record.last_used_at = lifecycle_.now();
  session.turn.clear();
  if (!is_usable) co_return co_await lifecycle_.lose(session);
  table_.move(session, SessionState::waiting);
  store_->mark(session.record);
}

// The sandbox may leave its session meanwhile.
Task<> SessionManager::cancel_turn(std::shared_ptr<LiveSandbox> sandbox) {
  if (sandbox) co_await sandbox->cancel();
}

Task<> SessionManager::interrupt(const std::string& id, const std::string& owner) {
  const Session* session = table_.find(id);
  const bool may_ask = session != nullptr && (owner.empty() || session->record.owner == owner);
  const bool is_running = may_ask && session->record.state == SessionState::running;
  return cancel_turn(is_running ? session->sandbox : nullptr);
}

Task<std::optional<ResumeAnswer>> SessionManager::restart(std::string id, std::string owner) {
  Visit visit = co_await enter(std::move(id), std::move(owner));
  co_return co_await shielded(restart_now(std::move(visit)));
}

Task<std::optional<ResumeAnswer>> SessionManager::restart_now(Visit visit) {
  refuse_expired(*visit);
  co_await make_live(*visit);
  co_await visit->sandbox->restart_interpreter();
  visit->has_run = true;  // its snapshot may have variables
  co_return std::exchange(visit->untold, std::nullopt);
}

// ---- pause, resume, remove

Task<PauseAnswer> SessionManager::pause(std::string id, std::string owner, Background background) {
  Visit visit = co_await enter(id, owner);
  while (visit->guests > 0 && background == Background::wait) {
    // Turns go on meanwhile, and its time to live ends it all the same.
    visit = Visit();
    co_await table_.changed().wait_until([&] { return !table_.has_guests(id); });
    visit = co_await enter(id, owner);
  }
  if (visit->guests > 0 && background == Background::refuse)
    throw SessionBusy(
        id, visit->commands.empty() ? "its sandbox is in use" : "background commands run in it");
  co_return co_await shielded(pause_now(std::move(visit)));
}

Task<PauseAnswer> SessionManager::pause_now(Visit visit) {
  if (visit->record.state == SessionState::cold)
    co_return PauseAnswer{.generation = visit->record.generation};
  co_return co_await lifecycle_.pause(*visit);
}

Task<ResumeAnswer> SessionManager::resume(std::string id, std::string owner,
                                          std::optional<std::int64_t> generation) {
  Visit visit = co_await enter(std::move(id), std::move(owner));
  co_return co_await shielded(resume_now(std::move(visit), generation));
}

Task<ResumeAnswer> SessionManager::resume_now(Visit visit, std::optional<std::int64_t> generation) {
  Session& session = *visit;
  refuse_expired(session);
  if (session.sandbox && session.sandbox->is_gone()) co_await lifecycle_.lose(session);
  if (session.record.state == SessionState::cold) {
    co_await resume_cold(session, generation);
    co_return *std::exchange(session.untold, std::nullopt);
  }
  if (generation && *generation != session.basis)
    throw Error("the session " + session.record.id +
                " is live; pause it before it is resumed from another generation");
  ++warm_hits_;
  ResumeAnswer answer = std::exchange(session.untold, std::nullopt).value_or(ResumeAnswer{});
  answer.source = ResumeSource::warm;
  answer.generation = session.record.generation;
  co_return answer;
}

Task<> SessionManager::remove(std::string id, std::string owner) {
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  co_await shielded(lifecycle_.remove(*visit, "deleted"));
}

// ---- look and change

Task<SessionView> SessionManager::get(std::string id, std::string owner) {
  const Session* session = table_.find(id);
  if (session != nullptr && session->is_loaded) {  // perhaps busy: do not wait for it
    if (!owner.empty() && session->record.owner != owner) throw SessionNotFound(id);
    co_return view_of(*session);
  }
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  co_return view_of(*visit);
}

Task<std::vector<SessionView>> SessionManager::list(store::ListQuery query) {
  if (query.state) co_await store_->marked();
  std::vector<SessionView> views;
  std::vector<store::SessionRecord> records = co_await store_->list(std::move(query));
  for (store::SessionRecord& record : records) {
    const Session* session = table_.find(record.id);
    if (session != nullptr && session->is_loaded) {
      views.push_back(view_of(*session));
    } else {
      SessionDetails details = details_in(record.details);
      views.push_back({std::move(record), std::move(details), {}});
    }
  }
  co_return views;
}

Task<SessionView> SessionManager::update(std::string id, std::string owner, SessionPatch patch) {
  Visit visit = co_await enter(std::move(id), std::move(owner));
  co_return co_await shielded(update_now(std::move(visit), std::move(patch)));
}

Task<SessionView> SessionManager::update_now(Visit visit, SessionPatch patch) {
  Session& session = *visit;
  const store::SessionRecord record_before = session.record;
  const SessionDetails before = session.details;
  merge(session.details.labels, patch.labels);
  merge(session.details.env, patch.env);
  if (patch.idle_timeout) {
    session.details.idle_timeout_ms.reset();
    if (*patch.idle_timeout) session.details.idle_timeout_ms = (*patch.idle_timeout)->count();
  }
  if (patch.time_to_live) {
    session.record.expires_at.reset();
    if (*patch.time_to_live)
      session.record.expires_at = lifecycle_.now() + (*patch.time_to_live)->count();
  }
  if (patch.on_idle) session.details.on_idle = *patch.on_idle;
  if (patch.on_expire) session.details.on_expire = *patch.on_expire;
  if (patch.network) session.details.network = patch.network;
  std::exception_ptr failure;
  try {
    sandboxes_.check(session.record.blueprint, checkout_options(session.details));
    co_await lifecycle_.store_record(session);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return view_of(session);
  session.record = record_before;
  session.details = before;
  std::rethrow_exception(failure);
}

Task<std::vector<std::string>> SessionManager::export_to(std::string id, std::string owner, int fd,
                                                         std::string name) {
  Visit visit = co_await enter(std::move(id), std::move(owner));
  co_return co_await shielded(export_now(std::move(visit), fd, std::move(name)));
}

Task<std::vector<std::string>> SessionManager::export_now(Visit visit, int fd, std::string name) {
  std::unique_ptr<TreeReader> tree = std::make_unique<EmptyTree>();
  if (visit->record.state != SessionState::cold) {
    tree = co_await visit->sandbox->read_tree();
  } else if (visit->record.generation != 0) {
    tree = co_await snapshots_.open(visit->record.id, visit->record.generation);
  }
  co_return co_await snapshots_.write_tar(*tree, fd, std::move(name));
}

// ---- numbers and the end

SessionStats SessionManager::stats() const {
  SessionStats stats;
  stats.warming = table_.count(SessionState::warming);
  stats.warm = table_.count(SessionState::warm) + sandboxes_.spares();
  stats.waiting = table_.count(SessionState::waiting);
  stats.running = table_.count(SessionState::running);
  // What is on its way out may be live and have no record any more.
  stats.cold = lifecycle_.entries() - std::min(lifecycle_.entries(), table_.live());
  stats.total = stats.cold + stats.warming + stats.warm + stats.waiting + stats.running;
  stats.max_capacity = options_.max_sandboxes;
  stats.resume_warm_hits = warm_hits_;
  stats.resume_cold_hits = cold_hits_;
  return stats;
}

Task<> SessionManager::close(std::chrono::milliseconds drain) {
  co_await shielded(close_now(drain));
}

Task<> SessionManager::none_running() {
  co_await table_.changed().wait_until([this] { return table_.count(SessionState::running) == 0; });
}

Task<bool> SessionManager::close_now(std::chrono::milliseconds drain) {
  if (std::exchange(is_closed_, true)) co_return false;
  sweep_.stop();
  try {
    if (drain.count() > 0) co_await within(drain, none_running());
  } catch (const DeadlineExceeded&) {
    log::info("turns of sessions did not end in time and are ended");
  }
  for (const std::string& id : table_.ids_in(SessionState::running))
    table_.find(id)->sandbox->kill();
  for (const SessionState state :
       {SessionState::warming, SessionState::warm, SessionState::running, SessionState::waiting})
    for (const std::string& id : table_.ids_in(state)) co_await close_session(id);
  // What used a sandbox fails now that it is gone.
  co_await table_.changed().wait_until([this] { return table_.guests() == 0; });
  co_await sweep_.close();
  co_await background_.close();
  co_await store_->close();
  log_stats(stats());
  co_return true;
}

Task<> SessionManager::close_session(std::string id) {
  const Visit visit = co_await table_.enter(id);
  if (visit->record.state == SessionState::cold) co_return;
  std::exception_ptr failure;
  try {
    co_await lifecycle_.pause(*visit);
  } catch (const Error& error) {
    failure = std::current_exception();
    log::error("session was not paused", {{"session", id}, {"error", error.what()}});
  }
  if (failure) co_await lifecycle_.lose(*visit);
}

}  // namespace hearth::session
