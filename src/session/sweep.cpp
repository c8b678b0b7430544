#include "session/sweep.h"

#include "async/shielded.h"
#include "base/log.h"
#include "session/errors.h"

#include <exception>
#include <utility>

namespace hearth::session {

Sweep::Sweep(const asio::any_io_executor& executor, const SessionOptions& options,
             SessionTable& table, Lifecycle& lifecycle, store::SessionStore& store, Clock& clock)
    : options_(options),
      table_(table),
      lifecycle_(lifecycle),
      store_(store),
      clock_(clock),
      background_(executor) {}

void Sweep::start() {
  if (!alarm_) set_alarm();
}

void Sweep::stop() { alarm_.reset(); }

void Sweep::set_alarm() {
  alarm_ = clock_.ring_at(clock_.now() + options_.sweep_interval, [this] {
    background_.start("sweep idle sessions", now());
    set_alarm();
  });
}

Task<> Sweep::now() { co_await shielded(sweep()); }

Task<> Sweep::close() { co_await background_.close(); }

Task<bool> Sweep::sweep() {
  if (std::exchange(is_sweeping_, true)) co_return false;
  std::exception_ptr failure;
  try {
    for (const std::string& id : table_.ids_in(SessionState::waiting)) co_await end_idle(id);
    constexpr std::int64_t most_at_once = 100;
    for (const store::SessionRecord& record :
         co_await store_.expired(lifecycle_.now(), most_at_once))
      co_await end_expired(record.id);
    co_await lifecycle_.settle_all();
    co_await store_.forget_tombstones(lifecycle_.now() - options_.gone_for.count());
  } catch (const Error& error) {
    log::warning("sweep of idle sessions was not finished", {{"error", error.what()}});
  } catch (...) {
    failure = std::current_exception();
  }
  is_sweeping_ = false;
  if (failure) std::rethrow_exception(failure);
  co_return true;
}

bool Sweep::is_overdue(const Session& session) const {
  const std::int64_t limit =
      session.details.idle_timeout_ms.value_or(options_.idle_timeout.count());
  return lifecycle_.now() - session.record.last_used_at > limit;
}

// Others were awaited since the list was made: what memory says now counts.
Task<> Sweep::end_idle(std::string id) {
  const Session* session = table_.find(id);
  if (session == nullptr || session->record.state != SessionState::waiting || session->users > 0 ||
      !is_overdue(*session))
    co_return;
  const SessionTable::Visit visit = co_await table_.try_enter(id);
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
Task<> Sweep::end_turn_of_expired(std::string id) {
  const Session* session = table_.find(id);
  const bool has_turn = session != nullptr && session->record.state == SessionState::running;
  if (!has_turn || !lifecycle_.is_expired(*session)) co_return;
  const std::shared_ptr<LiveSandbox> sandbox = session->sandbox;
  if (session->details.on_expire == EndAction::remove) {
    sandbox->kill();
  } else {
    co_await sandbox->cancel();  // what it has written is kept
  }
}

Task<> Sweep::end_expired(std::string id) {
  try {
    co_await end_turn_of_expired(id);
    const SessionTable::Visit visit = co_await table_.enter(id);
    Session& session = *visit;
    co_await lifecycle_.load(session, {});
    if (!lifecycle_.is_expired(session)) co_return;
    if (session.details.on_expire == EndAction::remove) {
      co_await lifecycle_.remove(session, "its time to live has passed");
      co_return;
    }
    if (session.record.state != SessionState::cold) co_await lifecycle_.pause(session);
    session.record.expires_at.reset();
    co_await lifecycle_.store_record(session);
  } catch (const Error& error) {
    log::warning("expired session was not ended", {{"session", id}, {"error", error.what()}});
  }
}

}  // namespace hearth::session
