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

void log_ended_commands(const Session& session, const PauseAnswer& answer) {
  if (answer.ended_executions.empty()) return;
  log::warning("background commands of an evicted session were ended",
               {{"session", session.record.id}, {"count", answer.ended_executions.size()}});
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
  for (const auto& [state, count] : counts) recorded_ += static_cast<std::size_t>(count);
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

// cppcheck-suppress passedByValue; a coroutine keeps what it is given
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
    // What is not in memory is cold. If the store has not heard of it, its process was lost.
    const bool is_behind = std::exchange(record->state, SessionState::cold) != SessionState::cold;
    if (is_behind) record->interrupted = true;
    session.record = *std::move(record);
    session.last_tried = session.record.generation;
    session.is_loaded = true;
    if (is_behind) co_await store_record(session);
  }
  if (!owner.empty() && session.record.owner != owner) throw SessionNotFound(id);
  co_await settle(session);
}

Task<> Lifecycle::store_record(Session& session) {
  session.record.details = to_json(session.details);
  const std::exception_ptr failure =
      co_await failure_of([&]() { return store_.update(session.record); });
  if (!failure) co_return;
  unsettle(session);
  std::rethrow_exception(failure);
}

Task<> Lifecycle::insert(Session& session) {
  session.record.details = to_json(session.details);
  store::SessionRecord live = session.record;  // it will be, and is not recorded once more
  live.state = SessionState::warm;
  ++changes_;
  ++changing_;
  const std::exception_ptr failure = co_await failure_of([&]() { return store_.insert(live); });
  ++changes_;
  --changing_;
  if (failure) std::rethrow_exception(failure);
  --reserved_;
  ++recorded_;
  session.is_loaded = true;
  session.is_recorded_live = true;
}

// After the record, so that no crash leaves a snapshot that no record knows.
Task<> Lifecycle::adopt(Session& session, TreeReader& tree) {
  session.last_tried = 1;
  co_await snapshots_.write(session.record.id, session.last_tried, tree);
  store::SessionRecord adopted = session.record;
  adopted.state = SessionState::warm;
  adopted.generation = session.last_tried;
  co_await store_.update(adopted);
  session.record.generation = adopted.generation;
}

// ---- writes that failed, and may have happened

void Lifecycle::unsettle(Session& session) {
  session.is_unsettled = true;
  unsettled_.try_emplace(session.record.id, false);
}

// Before anything runs: whatever happens to this process or to the next write, the store knows that
// there was work to lose.
Task<> Lifecycle::record_live(Session& session) {
  if (session.is_recorded_live) co_return;
  store::SessionRecord live = session.record;
  live.state = SessionState::warm;
  const std::exception_ptr failure = co_await failure_of([&]() { return store_.update(live); });
  if (failure) {
    unsettle(session);
    std::rethrow_exception(failure);
  }
  session.is_recorded_live = true;
}

// The store knows what was written last; memory knows whether it is live.
Task<> Lifecycle::settle(Session& session) {
  if (!session.is_unsettled) co_return;
  const std::string id = session.record.id;
  const std::optional<store::SessionRecord> record = co_await store_.find(id);
  if (!record) {
    co_await forget_removed(session);
    throw SessionGone(id, "deleted", now());
  }
  if (session.record.interrupted && !record->interrupted)
    co_await store_.interrupted(id, session.record.last_used_at, record->generation);
  session.record.generation = record->generation;
  session.record.expires_at = record->expires_at;
  session.record.details = record->details;
  session.details = details_in(record->details);
  const bool is_live = session.record.state != SessionState::cold;
  session.is_recorded_live = is_live && record->state != SessionState::cold;
  if (is_live) co_await record_live(session);
  session.is_unsettled = false;
  store_.mark(session.record);
}

Task<> Lifecycle::give_up(Session& session) {
  --reserved_;
  ++given_up_;  // it keeps its place until the store has answered
  is_count_certain_ = false;
  unsettled_[session.record.id] = true;
  session.is_loaded = false;
  co_await snapshots_.remove(session.record.id);
}

Task<> Lifecycle::settle_all() {
  const std::map<std::string, bool> unsettled = unsettled_;
  for (const auto& [id, is_given_up] : unsettled) {
    const SessionTable::Visit visit = co_await table_.try_enter(id);
    if (!visit) continue;
    try {
      if (is_given_up)
        co_await store_.remove({.id = id, .removed_at = now(), .reason = "was never started"}, 1);
      co_await load(*visit, {});
    } catch (const store::StoreUnavailable&) {
      throw;
    } catch (const Error&) {  // it is gone, as it should be
      visit->is_loaded = false;
    }
    if (!visit->is_loaded) co_await snapshots_.remove(id);
    if (unsettled_.erase(id) > 0 && is_given_up) --given_up_;
  }
  co_await recount();
}

Task<> Lifecycle::recount() {
  if (is_count_certain_ || changing_ > 0 || given_up_ > 0) co_return;
  const std::uint64_t before = changes_;
  std::size_t count = 0;
  for (const auto& [state, records] : co_await store_.counts())
    count += static_cast<std::size_t>(records);
  if (changes_ != before) co_return;  // the next call may be luckier
  recorded_ = count;
  is_count_certain_ = true;
}

// ---- room

// Goes through the sessions that could give way, in the order of eviction. Those that run
// background commands, which count as use, come last.
struct Lifecycle::Search {
  std::optional<store::SessionRecord> begin{};  // behind this one
  std::optional<store::SessionRecord> candidate = begin;
  bool ends_commands = false;
};

Task<bool> Lifecycle::find_next(Search& search) {
  co_await store_.marked();
  search.candidate = co_await store_.eviction_candidate(std::move(search.candidate));
  if (!search.candidate && !search.ends_commands && table_.any_commands()) {
    search.ends_commands = true;
    search.candidate = co_await store_.eviction_candidate(search.begin);
  }
  co_return search.candidate.has_value();
}

Task<> Lifecycle::reserve_entry() {
  const Mutex::Lock lock = co_await admission_.lock();
  if (!is_count_certain_) co_await settle_all();
  Search search;
  while (entries() >= options_.max_sandboxes) {
    const bool is_found = co_await find_next(search);
    const bool was_cold = is_found && search.candidate->state == SessionState::cold;
    // Where some have no sandbox, one that is in use now will be free to go.
    const bool may_go = is_found && (was_cold || options_.max_live >= options_.max_sandboxes);
    if (!may_go)
      throw pool::CapacityReached(fmt::format("all {} sessions (session.max_sandboxes) are in use",
                                              options_.max_sandboxes));
    if (!co_await make_way(search) || was_cold) continue;
    // What was paused stays until the next create needs a place: it can be resumed. But of those
    // there is one at most.
    if (entries() <= options_.max_sandboxes) break;
    search = {};
  }
  ++reserved_;
}

Task<> Lifecycle::reserve_live(Session& session, const pool::CheckoutOptions& options) {
  const Mutex::Lock lock = co_await admission_.lock();
  // Behind the last of the cold ones.
  Search search{
      store::SessionRecord{.id = "\x7f", .last_used_at = std::numeric_limits<std::int64_t>::max()}};
  while (table_.live() >= options_.max_live ||
         !sandboxes_.has_memory_for(session.record.blueprint, options)) {
    if (!co_await find_next(search))
      throw pool::CapacityReached(
          fmt::format("no sandbox for a session: {} are live, and none of them is idle "
                      "(session.max_live = {}, pool.memory_budget_mb)",
                      table_.live(), options_.max_live));
    co_await make_way(search);
  }
  table_.move(session, SessionState::warming);
}

// False if the candidate is not what the store believes, or could not be paused.
Task<bool> Lifecycle::make_way(const Search& search) {
  const store::SessionRecord candidate = *search.candidate;
  // The store may be behind: memory decides, at this moment.
  const SessionTable::Visit visit = co_await table_.try_enter(candidate.id, search.ends_commands);
  if (!visit) co_return false;
  Session& session = *visit;
  try {
    if (!session.is_loaded) co_await load(session, {});
    if (session.record.state != candidate.state) co_return false;
    if (candidate.state == SessionState::cold) {
      log::warning("session is evicted: its files are deleted", {{"session", candidate.id}});
      co_await remove(session, "evicted to make room");
    } else {
      log::info("session is evicted",
                {{"session", candidate.id}, {"state", name_of(candidate.state)}});
      log_ended_commands(session, co_await pause(session));
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

Task<> Lifecycle::resume(Session& session, std::vector<pool::WorkspaceFile> files,
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
  const std::exception_ptr failure = co_await failure_of(
      [&]() { return bring_to_life(session, std::move(options), tree.get(), answer); });
  if (failure) {
    co_await end_sandbox(session);
    table_.move(session, SessionState::cold);
    std::rethrow_exception(failure);
  }
  session.basis = answer.generation;
  session.has_run = false;
  session.record.interrupted = false;
  session.record.last_used_at = now();
  session.untold = std::move(answer);
  table_.move(session, SessionState::warm);
  store_.mark(session.record);
}

Task<> Lifecycle::bring_to_life(Session& session, pool::CheckoutOptions options, TreeReader* tree,
                                ResumeAnswer& answer) {
  co_await fill_sandbox(session, options, tree);
  answer.lost_variables =
      co_await restore_variables(session, std::move(options), answer.generation);
  co_await record_live(session);
}

Task<> Lifecycle::fill_sandbox(Session& session, pool::CheckoutOptions options, TreeReader* tree) {
  session.sandbox = co_await sandboxes_.lease(session.record.blueprint, std::move(options));
  if (tree != nullptr) co_await session.sandbox->write_tree(*tree);
}

Task<std::vector<std::string>> Lifecycle::restore_variables(Session& session,
                                                            pool::CheckoutOptions options,
                                                            std::int64_t generation) {
  std::vector<std::string> lost;
  if (generation == 0) co_return lost;
  const std::string id = session.record.id;
  const KeptVariables variables = co_await snapshots_.variables(id, generation);
  lost = variables.lost;
  if (variables.pickle.empty()) co_return lost;
  std::vector<std::string> not_back =
      co_await session.sandbox->restore_variables(variables, options_.variables);
  if (session.sandbox->is_gone()) {
    // Unpickling runs code of the session. Its files do not depend on that.
    not_back = variables.names;
    co_await end_sandbox(session);
    const std::unique_ptr<TreeReader> tree = co_await snapshots_.open(id, generation);
    co_await fill_sandbox(session, std::move(options), tree.get());
  }
  lost.insert(lost.end(), not_back.begin(), not_back.end());
  co_return lost;
}

Task<> Lifecycle::end_sandbox(Session& session) {
  if (!session.sandbox) co_return;
  co_await session.sandbox->end();
  session.sandbox.reset();
  session.commands.clear();  // what waits for their ends hears of it later
}

// ---- to rest

Task<PauseAnswer> Lifecycle::pause(Session& session) {
  co_await settle(session);
  if (session.sandbox->is_gone()) {
    co_await lose(session);
    co_return PauseAnswer{.generation = session.record.generation};
  }
  std::exception_ptr failure;
  try {
    co_return co_await pause_live(session);
  } catch (...) {
    failure = std::current_exception();
  }
  if (session.sandbox) session.sandbox->allow_commands();
  std::rethrow_exception(failure);
}

Task<PauseAnswer> Lifecycle::pause_live(Session& session) {
  PauseAnswer answer;
  const std::int64_t before = session.record.generation;
  store::SessionRecord paused = session.record;
  if (std::optional<Written> written = co_await write_if_changed(session, answer)) {
    answer.written = true;
    answer.left_out = std::move(written->left_out);
    paused.generation = written->manifest.generation;
  }
  paused.state = SessionState::cold;
  paused.interrupted = session.untold && session.untold->work_lost;
  session.is_recorded_live = false;
  const std::exception_ptr failure = co_await failure_of([&]() { return store_.update(paused); });
  if (failure) {
    unsettle(session);
    std::rethrow_exception(failure);
  }
  answer.generation = paused.generation;
  session.record.generation = paused.generation;
  session.record.interrupted = paused.interrupted;
  session.untold.reset();
  co_await end_sandbox(session);  // only then another may take its place
  table_.move(session, SessionState::cold);
  if (answer.written) co_await forget_old(session.record.id, {paused.generation, before});
  co_return answer;
}

Task<std::optional<Written>> Lifecycle::write_if_changed(Session& session, PauseAnswer& answer) {
  // A generation that was tried may have been recorded although the store did not say so.
  const bool is_latest =
      session.basis == session.record.generation && session.last_tried == session.basis;
  const bool may_be_same = is_latest && session.record.generation != 0;
  if (may_be_same && !session.has_run) co_return std::nullopt;
  const KeptVariables variables = co_await session.sandbox->keep_variables(options_.variables);
  answer.lost_variables = variables.lost;
  answer.ended_executions.assign(session.commands.begin(), session.commands.end());
  co_await session.sandbox->end_processes();
  if (may_be_same && co_await is_unchanged(session, variables)) co_return std::nullopt;
  ++session.last_tried;
  const std::unique_ptr<TreeReader> tree = co_await session.sandbox->read_tree();
  co_return co_await snapshots_.write(session.record.id, session.last_tried, *tree, variables);
}

Task<bool> Lifecycle::is_unchanged(Session& session, const KeptVariables& variables) {
  const std::unique_ptr<TreeReader> tree = co_await session.sandbox->read_tree();
  const Written now = co_await snapshots_.survey(*tree);
  try {
    const Manifest last =
        co_await snapshots_.manifest(session.record.id, session.record.generation);
    co_return same_content(now.manifest, last) &&
        variables.lost == last.lost_variables&& sum_of_pickle(variables) == last.variables_sha256;
  } catch (const SnapshotDamaged& error) {
    log::warning("snapshot is written again",
                 {{"session", session.record.id}, {"error", error.what()}});
  }
  co_return false;
}

Task<> Lifecycle::lose(Session& session) {
  co_await end_sandbox(session);
  session.record.interrupted = true;
  session.is_recorded_live = false;
  session.untold.reset();
  if (session.record.state == SessionState::running) table_.move(session, SessionState::waiting);
  table_.move(session, SessionState::cold);
  log::warning("session lost its sandbox",
               {{"session", session.record.id}, {"generation", session.record.generation}});
  try {
    co_await store_.interrupted(session.record.id, session.record.last_used_at, session.last_tried);
  } catch (const Error& error) {
    // Memory says so until the store does. After a crash the record, which is not cold, does.
    unsettle(session);
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
  ++changes_;
  ++changing_;
  const std::exception_ptr failure = co_await failure_of(
      [&]() { return store_.remove(std::move(tombstone), session.last_tried); });
  ++changes_;
  --changing_;
  if (failure) {
    unsettle(session);
    is_count_certain_ = false;
    std::rethrow_exception(failure);
  }
  --recorded_;
  co_await forget_removed(session);
}

// Its record is gone, and so is all the rest.
Task<> Lifecycle::forget_removed(Session& session) {
  session.is_loaded = false;  // a caller in the mailbox learns that it is gone
  session.is_unsettled = session.is_recorded_live = false;
  co_await end_sandbox(session);
  if (session.record.state != SessionState::cold) table_.move(session, SessionState::cold);
  try {
    co_await snapshots_.remove(session.record.id);
  } catch (const Error& error) {
    log::warning("snapshots were not removed",
                 {{"session", session.record.id}, {"error", error.what()}});
  }
}

}  // namespace hearth::session
