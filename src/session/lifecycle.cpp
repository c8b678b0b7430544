#include "session/lifecycle.h"

#include "base/log.h"
#include "pool/errors.h"
#include "session/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace hearth::session {
namespace {

// What failed, to be thrown later: no clean-up can be awaited in a catch block.
template <typename Work>
Task<std::exception_ptr> failure_of(Work work) {
  std::exception_ptr failure;
  try {
    co_await work();
  } catch (...) {
    failure = std::current_exception();
  }
  co_return failure;
}

}  // namespace

Lifecycle::Lifecycle(const SessionOptions& options, SessionTable& table, store::SessionStore& store,
                     Snapshots& snapshots, Sandboxes& sandboxes)
    : options_(options),
      table_(table),
      store_(store),
      snapshots_(snapshots),
      sandboxes_(sandboxes) {}

Task<std::size_t> Lifecycle::start() {
  co_await store_.open();
  const std::size_t marked = co_await store_.mark_all_cold();
  if (marked > 0) log::info("stale sessions were marked cold", {{"count", marked}});
  const auto counts = co_await store_.counts();
  for (const auto& [state, count] : counts) entries_ += static_cast<std::size_t>(count);
  co_await remove_left_snapshots();
  co_return marked;
}

// A crash between the removal of a record and that of its snapshots. What this store never heard of
// may be the other store's that shares the directory, or all there is after a database was lost.
Task<> Lifecycle::remove_left_snapshots() {
  std::size_t unknown = 0;
  for (const std::string& id : co_await snapshots_.sessions()) {
    if (co_await store_.find(id)) continue;
    if (co_await store_.find_tombstone(id)) {
      co_await snapshots_.remove(id);
    } else {
      ++unknown;
    }
  }
  if (unknown > 0)
    log::warning("snapshots of sessions that the store does not know are left alone",
                 {{"count", unknown}});
}

Task<> Lifecycle::load(Session& session, std::string owner) {
  const std::string id = session.record.id;
  if (!session.is_loaded) {
    std::optional<store::SessionRecord> record = co_await store_.find(id);
    if (!record) {
      const std::optional<store::Tombstone> gone = co_await store_.find_tombstone(id);
      const bool may_know = gone && (owner.empty() || gone->owner == owner);
      if (may_know) throw SessionGone(id, gone->reason, gone->removed_at);
      throw SessionNotFound(id);
    }
    session.details = details_in(record->details);
    // What is not in memory is cold. The store may not have heard of it.
    const bool is_behind = std::exchange(record->state, SessionState::cold) != SessionState::cold;
    if (is_behind) store_.mark(*record);
    session.record = *std::move(record);
    session.last_tried = session.record.generation;
    session.is_loaded = true;
  }
  if (!owner.empty() && session.record.owner != owner) throw SessionNotFound(id);
}

Task<> Lifecycle::store_record(Session& session) {
  session.record.details = to_json(session.details);
  co_await store_.update(session.record);
}

Task<> Lifecycle::insert(Session& session, TreeReader* tree) {
  session.record.details = to_json(session.details);
  if (tree != nullptr) {
    co_await snapshots_.write(session.record.id, 1, *tree);
    session.record.generation = session.last_tried = 1;
  }
  co_await store_.insert(session.record);
  session.is_loaded = true;
}

// ---- room

Task<> Lifecycle::reserve_entry() {
  const Mutex::Lock lock = co_await admission_.lock();
  std::optional<store::SessionRecord> candidate;
  while (entries_ >= options_.max_sandboxes) {
    co_await store_.marked();
    candidate = co_await store_.eviction_candidate(std::move(candidate));
    if (!candidate)
      throw pool::CapacityReached(
          fmt::format("all {} sessions are in use", options_.max_sandboxes));
    const std::size_t before = entries_;
    // What was paused stays until the next create needs a place: it can be resumed.
    if (co_await make_way(*candidate) && entries_ == before) break;
  }
  ++entries_;
}

Task<> Lifecycle::reserve_live(Session& session, pool::CheckoutOptions options) {
  const Mutex::Lock lock = co_await admission_.lock();
  // Behind the last of the cold ones.
  std::optional<store::SessionRecord> candidate =
      store::SessionRecord{.id = "\x7f", .last_used_at = std::numeric_limits<std::int64_t>::max()};
  while (table_.live() >= options_.max_live ||
         !sandboxes_.has_memory_for(session.record.blueprint, options)) {
    co_await store_.marked();
    candidate = co_await store_.eviction_candidate(std::move(candidate));
    if (!candidate)
      throw pool::CapacityReached(fmt::format(
          "no sandbox for a session: {} are live, and none of them is idle", table_.live()));
    co_await make_way(*candidate);
  }
  table_.move(session, SessionState::warming);
}

// False if the candidate is not what the store believes, or could not be paused.
Task<bool> Lifecycle::make_way(store::SessionRecord candidate) {
  // The store may be behind: memory decides, at this moment.
  const SessionTable::Visit visit = co_await table_.try_enter(candidate.id);
  if (!visit) co_return false;
  Session& session = *visit;
  try {
    if (!session.is_loaded) co_await load(session, {});
    if (session.record.state != candidate.state) co_return false;
    if (candidate.state == SessionState::cold) {
      log::info("session is evicted", {{"session", candidate.id}, {"state", "cold"}});
      co_await remove(session, "evicted to make room");
    } else {
      log::info("session is evicted",
                {{"session", candidate.id}, {"state", name_of(session.record.state)}});
      co_await pause(session);
    }
  } catch (const store::StoreUnavailable&) {
    throw;
  } catch (const Error& error) {
    log::warning("session was not evicted", {{"session", candidate.id}, {"error", error.what()}});
    co_return false;
  }
  co_return true;
}

// ---- to life

Task<ResumeAnswer> Lifecycle::resume(Session& session, std::vector<pool::WorkspaceFile> files,
                                     std::optional<std::int64_t> generation) {
  ResumeAnswer answer{.generation = generation.value_or(session.record.generation),
                      .work_lost = session.record.interrupted};
  answer.source = answer.generation == 0 ? ResumeSource::fresh : ResumeSource::snapshot;
  // Checked before anything is started or given up for it.
  std::unique_ptr<TreeReader> tree;
  if (answer.generation != 0) tree = co_await snapshots_.open(session.record.id, answer.generation);
  pool::CheckoutOptions options = checkout_options(session.details);
  options.files = std::move(files);
  co_await reserve_live(session, options);
  const std::exception_ptr failure =
      co_await failure_of([&]() { return fill_sandbox(session, std::move(options), tree.get()); });
  if (failure) {
    co_await end_sandbox(session);
    table_.move(session, SessionState::cold);
    std::rethrow_exception(failure);
  }
  session.basis = answer.generation;
  session.has_run = false;
  session.record.interrupted = false;
  session.record.last_used_at = now();
  table_.move(session, SessionState::warm);
  store_.mark(session.record);
  co_return answer;
}

Task<> Lifecycle::fill_sandbox(Session& session, pool::CheckoutOptions options, TreeReader* tree) {
  session.sandbox = co_await sandboxes_.lease(session.record.blueprint, std::move(options));
  if (tree != nullptr) co_await session.sandbox->write_tree(*tree);
}

Task<> Lifecycle::end_sandbox(Session& session) {
  if (!session.sandbox) co_return;
  co_await session.sandbox->end();
  session.sandbox.reset();
}

// ---- to rest

Task<PauseAnswer> Lifecycle::pause(Session& session) {
  if (session.sandbox->is_gone()) {
    co_await lose(session);
    co_return PauseAnswer{.generation = session.record.generation};
  }
  PauseAnswer answer;
  const std::int64_t before = session.record.generation;
  store::SessionRecord paused = session.record;
  if (std::optional<Written> written = co_await write_if_changed(session)) {
    answer.written = true;
    answer.left_out = std::move(written->left_out);
    paused.generation = written->manifest.generation;
  }
  paused.state = SessionState::cold;
  paused.interrupted = false;
  co_await store_.update(paused);
  answer.generation = paused.generation;
  session.record.generation = paused.generation;
  session.record.interrupted = false;
  table_.move(session, SessionState::cold);
  co_await end_sandbox(session);
  if (answer.written) co_await forget_old(session.record.id, {paused.generation, before});
  co_return answer;
}

Task<std::optional<Written>> Lifecycle::write_if_changed(Session& session) {
  // A generation that was tried may have been recorded although the store did not say so.
  const bool is_latest =
      session.basis == session.record.generation && session.last_tried == session.basis;
  const bool may_be_same = is_latest && session.record.generation != 0;
  if (may_be_same && !session.has_run) co_return std::nullopt;
  co_await session.sandbox->end_processes();
  if (may_be_same && co_await is_unchanged(session)) co_return std::nullopt;
  ++session.last_tried;
  const std::unique_ptr<TreeReader> tree = co_await session.sandbox->read_tree();
  co_return co_await snapshots_.write(session.record.id, session.last_tried, *tree);
}

Task<bool> Lifecycle::is_unchanged(Session& session) {
  const std::unique_ptr<TreeReader> tree = co_await session.sandbox->read_tree();
  const Written now = co_await snapshots_.survey(*tree);
  try {
    const Manifest last =
        co_await snapshots_.manifest(session.record.id, session.record.generation);
    co_return same_content(now.manifest, last);
  } catch (const SnapshotDamaged& error) {
    log::warning("snapshot is written again",
                 {{"session", session.record.id}, {"error", error.what()}});
  }
  co_return false;
}

Task<> Lifecycle::lose(Session& session) {
  co_await end_sandbox(session);
  session.record.interrupted = true;
  if (session.record.state == SessionState::running) table_.move(session, SessionState::waiting);
  table_.move(session, SessionState::cold);
  log::warning("session lost its sandbox",
               {{"session", session.record.id}, {"generation", session.record.generation}});
  try {
    co_await store_record(session);
  } catch (const Error& error) {
    // The next start finds a state that is not cold, and says the same.
    log::warning("loss of a session was not recorded",
                 {{"session", session.record.id}, {"error", error.what()}});
  }
}

// Old generations are only a burden; the next pause tries again.
Task<> Lifecycle::forget_old(std::string id, std::vector<std::int64_t> kept) {
  try {
    co_await snapshots_.keep_only(id, std::move(kept));
  } catch (const Error& error) {
    log::warning("old snapshots were not removed", {{"session", id}, {"error", error.what()}});
  }
}

Task<> Lifecycle::remove(Session& session, std::string reason) {
  const std::string id = session.record.id;
  store::Tombstone tombstone{
      .id = id, .owner = session.record.owner, .removed_at = now(), .reason = std::move(reason)};
  co_await store_.remove(std::move(tombstone), session.last_tried);
  --entries_;
  session.is_loaded = false;  // a caller in the mailbox learns that it is gone
  co_await end_sandbox(session);
  if (session.record.state != SessionState::cold) table_.move(session, SessionState::cold);
  try {
    co_await snapshots_.remove(id);
  } catch (const Error& error) {
    log::warning("snapshots were not removed", {{"session", id}, {"error", error.what()}});
  }
}

}  // namespace hearth::session
