#include "session/session_manager.h"

#include "async/shielded.h"
#include "async/within.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "pool/errors.h"

#include <boost/asio/this_coro.hpp>

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
      clock_(clock),
      table_(executor),
      lifecycle_(options_, table_, *store_, snapshots_, sandboxes_),
      background_(executor) {}

SessionManager::~SessionManager() = default;

Task<std::size_t> SessionManager::init() { co_return co_await shielded(lifecycle_.start()); }

Task<SessionTable::Visit> SessionManager::enter(std::string id, std::string owner) {
  if (is_closed_) throw pool::PoolClosed("sessions are shut down");
  Visit visit = co_await table_.enter(std::move(id));
  co_await lifecycle_.load(*visit, std::move(owner));
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
    co_await lifecycle_.insert(*visit, origin.get());
    is_stored = true;
    co_await lifecycle_.resume(*visit, std::move(request.files), std::nullopt);
  } catch (...) {
    failure = std::current_exception();
  }
  visit->untold.reset();
  if (!failure) co_return SessionView{visit->record, visit->details};
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

Task<RunAnswer> SessionManager::run(std::string id, std::string owner,
                                    execution::TurnRequest request, execution::OnEvent on_event,
                                    WhenBusy when_busy) {
  if (when_busy == WhenBusy::refuse && table_.is_in_use(id)) throw SessionBusy(id);
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  Session& session = *visit;
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
  if (std::optional<SessionTable::Guest> guest = table_.beside_turn(id)) {
    if (!owner.empty() && (*guest)->record.owner != owner) throw SessionNotFound(id);
    co_return *std::move(guest);
  }
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  co_await shielded(make_live(*visit));
  resumed = visit->untold;
  visit->has_run = true;
  co_return SessionTable::Guest(table_, visit);
}

Task<std::optional<ResumeAnswer>> SessionManager::use(std::string id, std::string owner,
                                                      SandboxWork work) {
  if (is_closed_) throw pool::PoolClosed("sessions are shut down");
  std::optional<ResumeAnswer> resumed;
  const SessionTable::Guest guest = co_await welcome(std::move(id), std::move(owner), resumed);
  // The sandbox may leave the session meanwhile, but does not vanish.
  const std::shared_ptr<LiveSandbox> sandbox = guest->sandbox;
  const ScopeExit was_used([this, &guest] {
    guest->record.last_used_at = lifecycle_.now();
    if (guest->record.state != SessionState::cold) store_->mark(guest->record);
  });
  co_await work(*sandbox);
  if (resumed && guest->sandbox == sandbox) guest->untold.reset();
  co_return resumed;
}

Task<> SessionManager::end_turn(Session& session, bool is_usable) {
  session.record.last_used_at = lifecycle_.now();
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
  co_return co_await shielded(restart_now(std::move(id), std::move(owner)));
}

Task<std::optional<ResumeAnswer>> SessionManager::restart_now(std::string id, std::string owner) {
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  co_await make_live(*visit);
  co_await visit->sandbox->end_processes();
  visit->has_run = true;  // its snapshot may have variables
  co_return std::exchange(visit->untold, std::nullopt);
}

// ---- pause, resume, remove

Task<PauseAnswer> SessionManager::pause(std::string id, std::string owner, Background background) {
  co_return co_await shielded(pause_now(std::move(id), std::move(owner), background));
}

Task<PauseAnswer> SessionManager::pause_now(std::string id, std::string owner,
                                            Background background) {
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  if (visit->guests > 0 && background == Background::refuse) throw SessionBusy(visit->record.id);
  if (background == Background::wait)
    co_await table_.changed().wait_until([&visit] { return visit->guests == 0; });
  if (visit->record.state == SessionState::cold)
    co_return PauseAnswer{.generation = visit->record.generation};
  co_return co_await lifecycle_.pause(*visit);
}

Task<ResumeAnswer> SessionManager::resume(std::string id, std::string owner,
                                          std::optional<std::int64_t> generation) {
  co_return co_await shielded(resume_now(std::move(id), std::move(owner), generation));
}

Task<ResumeAnswer> SessionManager::resume_now(std::string id, std::string owner,
                                              std::optional<std::int64_t> generation) {
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  Session& session = *visit;
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
  co_await shielded(remove_now(std::move(id), std::move(owner), "deleted"));
}

Task<bool> SessionManager::remove_now(std::string id, std::string owner, std::string reason) {
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  co_await lifecycle_.remove(*visit, std::move(reason));
  co_return true;
}

// ---- look and change

Task<SessionView> SessionManager::get(std::string id, std::string owner) {
  const Session* session = table_.find(id);
  if (session != nullptr && session->is_loaded) {  // perhaps busy: do not wait for it
    if (!owner.empty() && session->record.owner != owner) throw SessionNotFound(id);
    co_return SessionView{session->record, session->details};
  }
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  co_return SessionView{visit->record, visit->details};
}

Task<std::vector<SessionView>> SessionManager::list(store::ListQuery query) {
  if (query.state) co_await store_->marked();
  std::vector<SessionView> views;
  std::vector<store::SessionRecord> records = co_await store_->list(std::move(query));
  for (store::SessionRecord& record : records) {
    const Session* session = table_.find(record.id);
    if (session != nullptr && session->is_loaded) {
      views.push_back({session->record, session->details});
    } else {
      SessionDetails details = details_in(record.details);
      views.push_back({std::move(record), std::move(details)});
    }
  }
  co_return views;
}

Task<SessionView> SessionManager::update(std::string id, std::string owner, SessionPatch patch) {
  co_return co_await shielded(update_now(std::move(id), std::move(owner), std::move(patch)));
}

Task<SessionView> SessionManager::update_now(std::string id, std::string owner,
                                             SessionPatch patch) {
  const Visit visit = co_await enter(std::move(id), std::move(owner));
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
  if (!failure) co_return SessionView{session.record, session.details};
  session.record = record_before;
  session.details = before;
  std::rethrow_exception(failure);
}

Task<std::vector<std::string>> SessionManager::export_to(std::string id, std::string owner, int fd,
                                                         std::string name) {
  co_return co_await shielded(export_now(std::move(id), std::move(owner), fd, std::move(name)));
}

Task<std::vector<std::string>> SessionManager::export_now(std::string id, std::string owner, int fd,
                                                          std::string name) {
  const Visit visit = co_await enter(std::move(id), std::move(owner));
  std::unique_ptr<TreeReader> tree = std::make_unique<EmptyTree>();
  if (visit->record.state != SessionState::cold) {
    tree = co_await visit->sandbox->read_tree();
  } else if (visit->record.generation != 0) {
    tree = co_await snapshots_.open(visit->record.id, visit->record.generation);
  }
  co_return co_await snapshots_.write_tar(*tree, fd, std::move(name));
}

// ---- the sweep

void SessionManager::start_idle_sweep() {
  if (!sweep_alarm_) set_sweep_alarm();
}

void SessionManager::stop_idle_sweep() { sweep_alarm_.reset(); }

void SessionManager::set_sweep_alarm() {
  sweep_alarm_ = clock_.ring_at(clock_.now() + options_.sweep_interval, [this] {
    background_.start("sweep idle sessions", sweep());
    set_sweep_alarm();
  });
}

Task<> SessionManager::sweep() { co_await shielded(sweep_now()); }

Task<bool> SessionManager::sweep_now() {
  if (std::exchange(is_sweeping_, true)) co_return false;
  std::exception_ptr failure;
  try {
    for (const std::string& id : table_.ids_in(SessionState::waiting)) co_await sweep_idle(id);
    constexpr std::int64_t most_at_once = 100;
    for (const store::SessionRecord& record :
         co_await store_->expired(lifecycle_.now(), most_at_once))
      co_await sweep_expired(record);
    co_await lifecycle_.settle_all();
    co_await store_->forget_tombstones(lifecycle_.now() - options_.gone_for.count());
  } catch (const Error& error) {
    log::warning("sweep of idle sessions was not finished", {{"error", error.what()}});
  } catch (...) {
    failure = std::current_exception();
  }
  is_sweeping_ = false;
  if (failure) std::rethrow_exception(failure);
  co_return true;
}

bool SessionManager::is_overdue(const Session& session) const {
  const std::int64_t limit =
      session.details.idle_timeout_ms.value_or(options_.idle_timeout.count());
  return lifecycle_.now() - session.record.last_used_at > limit;
}

// Others were awaited since the list was made: what memory says now counts.
Task<> SessionManager::sweep_idle(std::string id) {
  const Session* session = table_.find(id);
  if (session == nullptr || session->record.state != SessionState::waiting || session->users > 0 ||
      !is_overdue(*session))
    co_return;
  const Visit visit = co_await table_.try_enter(id);
  try {
    if (visit->details.on_idle == EndAction::remove) {
      co_await lifecycle_.remove(*visit, "idle for too long");
    } else {
      co_await lifecycle_.pause(*visit);
    }
    log::info("idle session ended",
              {{"session", id}, {"action", enum_name(visit->details.on_idle)}});
  } catch (const Error& error) {
    log::warning("idle session was not paused", {{"session", id}, {"error", error.what()}});
  }
}

// A turn that runs is no reason to live longer.
Task<> SessionManager::sweep_expired(store::SessionRecord record) {
  const Session* present = table_.find(record.id);
  const bool is_deleted = details_in(record.details).on_expire == EndAction::remove;
  if (is_deleted && present != nullptr && present->record.state == SessionState::running)
    present->sandbox->kill();
  try {
    const Visit visit = co_await enter(record.id, {});
    Session& session = *visit;
    const bool is_over =
        session.record.expires_at && *session.record.expires_at <= lifecycle_.now();
    if (!is_over) co_return;
    if (session.details.on_expire == EndAction::remove) {
      co_await lifecycle_.remove(session, "its time to live has passed");
      co_return;
    }
    session.record.expires_at.reset();
    if (session.record.state != SessionState::cold) co_await lifecycle_.pause(session);
    co_await lifecycle_.store_record(session);
  } catch (const Error& error) {
    log::warning("expired session was not ended",
                 {{"session", record.id}, {"error", error.what()}});
  }
}

// ---- numbers and the end

SessionStats SessionManager::stats() const {
  SessionStats stats;
  stats.warming = table_.count(SessionState::warming);
  stats.warm = table_.count(SessionState::warm) + sandboxes_.spares();
  stats.waiting = table_.count(SessionState::waiting);
  stats.running = table_.count(SessionState::running);
  stats.cold = lifecycle_.entries() - table_.live();
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
  stop_idle_sweep();
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
  co_await background_.close();
  co_await store_->close();
  log::info("sessions are closed", {{"stats", to_json(stats())}});
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
