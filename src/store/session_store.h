// store/session_store.h: the records of sessions, in a database. The only place with SQL.
#pragma once

#include "async/clock.h"
#include "async/event.h"
#include "async/task_group.h"
#include "store/database.h"
#include "store/errors.h"
#include "store/session_record.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::store {

// Where a list or a search goes on.
struct ListPoint {
  std::int64_t created_at = -1;
  std::string id{};
};
struct ListQuery {
  std::string owner{};                  // empty: all
  std::optional<SessionState> state{};  // absent: all
  ListPoint after{};
  std::int64_t limit = 100;
};

class SessionStore {
 public:
  SessionStore(const asio::any_io_executor& executor, std::unique_ptr<Database> database);
  // After close().
  ~SessionStore();

  // Creates or migrates the tables. Before anything else. StoreTooNew.
  Task<> open();

  // What these tasks wrote is durable when they return. All throw StoreUnavailable, those that
  // change a record StaleWrite.
  Task<> insert(SessionRecord record);
  Task<> update(SessionRecord record);
  // Its process ended without a pause: cold and interrupted, whatever snapshot up to `generation`
  // it has.
  Task<> interrupted(std::string id, std::int64_t last_used_at, std::int64_t generation);
  // Leaves the tombstone in its place.
  Task<> remove(Tombstone tombstone, std::int64_t generation);
  Task<> forget_tombstones(std::int64_t removed_before);
  // Every record, at the start of a process: nothing of the last one lives. Returns how many were
  // not cold.
  Task<std::size_t> mark_all_cold();

  // Fire and forget: written soon, together with others, the latest of each session. The caller's
  // memory is the truth; a crash may lose it.
  void mark(const SessionRecord& record);
  // Returns when all marks that were made before are written. Throws what the writing failed with.
  Task<> marked();

  Task<std::optional<SessionRecord>> find(std::string id);
  Task<std::optional<Tombstone>> find_tombstone(std::string id);
  Task<std::vector<SessionRecord>> list(ListQuery query);
  // The first in the order of eviction, after `after`, where that is given: cold before warm before
  // waiting, and of one state the least recently used. Nothing: all are busy.
  Task<std::optional<SessionRecord>> eviction_candidate(
      std::optional<SessionRecord> after = std::nullopt);
  // Whose time to live has passed, the first `limit` of them.
  Task<std::vector<SessionRecord>> expired(std::int64_t now, std::int64_t limit);
  Task<std::map<SessionState, std::int64_t>> counts();

  Task<> close();

 private:
  using Marks = std::map<std::string, SessionRecord>;

  Task<std::int64_t> version();
  Task<> write_marks();
  Task<> write_marks_once();
  void drop_mark(const std::string& id);
  Task<> change(std::vector<Statement> statements, std::string id);

  asio::any_io_executor executor_;
  std::unique_ptr<Database> database_;
  Marks marks_;      // to be written
  Marks in_flight_;  // being written
  bool is_writing_ = false;
  std::exception_ptr mark_failure_;  // of the last attempt
  std::uint64_t attempts_ = 0;
  AsyncEvent marks_changed_;
  TaskGroup background_;
};

}  // namespace hearth::store
