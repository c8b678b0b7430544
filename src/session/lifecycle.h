// session/lifecycle.h: how a session comes to life and how it ends, and which one has to give way
// to another. Whatever fails on the way leaves the session in a state that the next call can use.
//
// A pause: pickle the variables, end the processes, read the tree, write and sync the snapshot,
// record it, kill. A resume: check the snapshot, reserve a place, lease a sandbox, restore the tree
// and the variables. All tasks must come to their end: callers shield them from cancellation.
#pragma once

#include "async/mutex.h"
#include "session/sandboxes.h"
#include "session/session_table.h"
#include "session/session_types.h"
#include "session/snapshots.h"
#include "store/session_store.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::session {

class Lifecycle {
 public:
  // What is referred to must outlive it.
  Lifecycle(const SessionOptions& options, SessionTable& table, store::SessionStore& store,
            Snapshots& snapshots, Sandboxes& sandboxes);

  // Opens the store and marks all records cold; returns how many were not, and knows how many there
  // are. Removes snapshots of sessions that are gone.
  Task<std::size_t> start();

  // ---- all of these: of a session that the caller has entered

  // Fills in what the store knows. SessionNotFound, also for other owners (empty: any);
  // SessionGone.
  Task<> load(Session& session, std::string owner);
  // A record for it.
  Task<> insert(Session& session);
  // Its first snapshot. If it throws the session is to be removed.
  Task<> adopt(Session& session, TreeReader& tree);
  // From cold to warm. With `generation`: from that one, 0 for an empty workspace. SnapshotDamaged,
  // CapacityReached, StoreUnavailable and what a lease throws; it is cold then. What it found is in
  // `untold`, for the call that answers with it.
  Task<> resume(Session& session, std::vector<pool::WorkspaceFile> files,
                std::optional<std::int64_t> generation);
  // From warm or waiting to cold. If it throws the session is as it was.
  Task<PauseAnswer> pause(Session& session);
  // Its sandbox is gone or of no use: to cold, and what was done since the snapshot is lost.
  Task<> lose(Session& session);
  // Record, snapshots, and what is alive.
  Task<> remove(Session& session, std::string reason);
  // The record as memory has it, durable when it returns.
  Task<> store_record(Session& session);

  // A place for one more record: by deleting the least recently used cold sessions. Where all may
  // be live and there are no cold ones, by pausing one, which then is the one too many until the
  // next call. Those that run background commands come last, which end. CapacityReached if all are
  // in use.
  Task<> reserve_entry();
  // Of a session whose insert() failed: nothing of it is left, as soon as the store answers.
  Task<> give_up(Session& session);
  std::size_t entries() const { return recorded_ + reserved_ + given_up_; }
  // Finds out what became of writes that failed and may have happened.
  Task<> settle_all();
  std::int64_t now() const { return options_.wall_clock(); }
  // Its time to live has passed.
  bool is_expired(const Session& session) const {
    return session.record.expires_at && *session.record.expires_at <= now();
  }

 private:
  Task<> remove_left_snapshots();
  Task<> settle(Session& session);
  Task<> record_live(Session& session);
  Task<> recount();
  void unsettle(Session& session);
  Task<> forget_removed(Session& session);
  struct Search;
  Task<bool> find_next(Search& search);
  Task<bool> make_way(const Search& search);
  Task<> reserve_live(Session& session, const pool::CheckoutOptions& options);
  Task<> bring_to_life(Session& session, pool::CheckoutOptions options, TreeReader* tree,
                       ResumeAnswer& answer);
  Task<> fill_sandbox(Session& session, pool::CheckoutOptions options, TreeReader* tree);
  Task<std::vector<std::string>> restore_variables(Session& session, pool::CheckoutOptions options,
                                                   std::int64_t generation);
  Task<PauseAnswer> pause_live(Session& session);
  Task<std::optional<Written>> write_if_changed(Session& session, PauseAnswer& answer);
  Task<bool> is_unchanged(Session& session, const KeptVariables& variables);
  Task<> end_sandbox(Session& session);
  Task<> forget_old(std::string id, std::vector<std::int64_t> kept);

  const SessionOptions& options_;
  SessionTable& table_;
  store::SessionStore& store_;
  Snapshots& snapshots_;
  Sandboxes& sandboxes_;
  std::size_t recorded_ = 0;
  std::size_t reserved_ = 0;  // records that are being made
  std::size_t given_up_ = 0;  // those that may be there although their making failed
  Mutex admission_;           // one at a time makes room
  // Sessions of which a write failed, and whether they were given up.
  std::map<std::string, bool> unsettled_;
  bool is_count_certain_ = true;
  std::uint64_t changes_ = 0;  // of the number of records, begun or ended
  std::size_t changing_ = 0;
};

}  // namespace hearth::session
