#include "store/session_store.h"

#include "base/log.h"
#include "store/schema.h"

#include <fmt/format.h>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace hearth::store {
namespace {

#define HEARTH_COLUMNS                                                                           \
  "id, owner, blueprint, state, generation, created_at, last_used_at, expires_at, interrupted, " \
  "details"

constexpr std::string_view make_version_table =
    "CREATE TABLE IF NOT EXISTS hearth_schema (version BIGINT NOT NULL)";
constexpr std::string_view select_version = "SELECT max(version) FROM hearth_schema";
constexpr std::string_view insert_version = "INSERT INTO hearth_schema (version) VALUES ($1)";

constexpr std::string_view insert_session =
    "INSERT INTO sessions (" HEARTH_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
constexpr std::string_view update_session =
    "UPDATE sessions SET owner = $2, blueprint = $3, state = $4, generation = $5, created_at = $6,"
    " last_used_at = $7, expires_at = $8, interrupted = $9, details = $10 WHERE id = $1 AND "
    "generation <= $5";
constexpr std::string_view interrupt_session =
    "UPDATE sessions SET state = 'cold', interrupted = 1, last_used_at = $2 WHERE id = $1 AND "
    "generation <= $3";
constexpr std::string_view mark_session =
    "UPDATE sessions SET state = $2, last_used_at = $3 WHERE id = $1 AND generation = $4";
constexpr std::string_view mark_sessions_cold =
    "UPDATE sessions SET state = 'cold', interrupted = CASE WHEN state = 'warming' THEN interrupted"
    " ELSE 1 END WHERE state <> 'cold'";
constexpr std::string_view delete_session =
    "DELETE FROM sessions WHERE id = $1 AND generation <= $2";
// Only in the place of a record that is gone.
constexpr std::string_view insert_tombstone =
    "INSERT INTO removed_sessions (id, owner, removed_at, reason) SELECT $1, $2, $3, $4"
    " WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = $1)"
    " AND NOT EXISTS (SELECT 1 FROM removed_sessions WHERE id = $1)";
constexpr std::string_view delete_tombstones = "DELETE FROM removed_sessions WHERE removed_at < $1";
constexpr std::string_view select_tombstone =
    "SELECT id, owner, removed_at, reason FROM removed_sessions WHERE id = $1";
constexpr std::string_view select_session = "SELECT " HEARTH_COLUMNS " FROM sessions WHERE id = $1";
constexpr std::string_view select_sessions =
    "SELECT " HEARTH_COLUMNS
    " FROM sessions WHERE (created_at > $1 OR (created_at = $1 AND id > $2))"
    " AND ($3 = '' OR owner = $3) AND ($4 = '' OR state = $4) ORDER BY created_at, id LIMIT $5";
constexpr std::string_view select_candidate =
    "SELECT " HEARTH_COLUMNS
    " FROM sessions WHERE state IN ('cold', 'warm', 'waiting')"
    " AND (" HEARTH_EVICTION_TIER
    ", last_used_at, id) > ($1, $2, $3)"
    " ORDER BY " HEARTH_EVICTION_TIER ", last_used_at, id LIMIT 1";
constexpr std::string_view select_expired =
    "SELECT " HEARTH_COLUMNS
    " FROM sessions WHERE expires_at IS NOT NULL AND expires_at <= $1"
    " ORDER BY expires_at LIMIT $2";
constexpr std::string_view count_sessions = "SELECT state, count(*) FROM sessions GROUP BY state";

constexpr std::chrono::milliseconds retry_pause{500};
constexpr std::size_t most_marks_at_once = 500;

const std::string& text_of(const Value& value) { return std::get<std::string>(value); }
std::int64_t number_of(const Value& value) { return std::get<std::int64_t>(value); }
Value text(std::string_view value) { return std::string(value); }

SessionState state_of(const std::string& name) {
  const std::optional<SessionState> state = enum_value<SessionState>(name);
  if (!state) throw StoreUnavailable("the store holds a session in the unknown state " + name);
  return *state;
}

SessionRecord record_of(const Row& row) {
  SessionRecord record{.id = text_of(row[0]),
                       .owner = text_of(row[1]),
                       .blueprint = text_of(row[2]),
                       .state = state_of(text_of(row[3])),
                       .generation = number_of(row[4]),
                       .created_at = number_of(row[5]),
                       .last_used_at = number_of(row[6]),
                       .interrupted = number_of(row[8]) != 0,
                       .details = text_of(row[9])};
  if (const auto* expires_at = std::get_if<std::int64_t>(&row[7])) record.expires_at = *expires_at;
  return record;
}

std::vector<SessionRecord> records_of(const Result& result) {
  std::vector<SessionRecord> records;
  records.reserve(result.rows.size());
  for (const Row& row : result.rows) records.push_back(record_of(row));
  return records;
}

Statement with_columns(std::string_view sql, const SessionRecord& record) {
  const Value expires_at = record.expires_at ? Value(*record.expires_at) : Value();
  return {sql,
          {record.id, record.owner, record.blueprint, text(name_of(record.state)),
           record.generation, record.created_at, record.last_used_at, expires_at,
           std::int64_t{record.interrupted ? 1 : 0}, record.details}};
}

std::int64_t tier_of(SessionState state) {
  if (state == SessionState::cold) return 0;
  return state == SessionState::warm ? 1 : 2;
}

}  // namespace

SessionStore::SessionStore(const asio::any_io_executor& executor,
                           std::unique_ptr<Database> database)
    : executor_(executor),
      database_(std::move(database)),
      marks_changed_(executor),
      background_(executor) {}

SessionStore::~SessionStore() = default;

Task<std::int64_t> SessionStore::version() {
  std::vector<Statement> statements{{make_version_table}, {select_version}};
  const Results results = co_await database_->transact(std::move(statements));
  const auto* version = std::get_if<std::int64_t>(&results[1].rows.at(0).at(0));
  co_return version == nullptr ? 0 : *version;
}

Task<> SessionStore::open() {
  const auto known = static_cast<std::int64_t>(migrations().size());
  std::int64_t version = co_await this->version();
  if (version > known)
    throw StoreTooNew(
        fmt::format("the store has version {}, made by a newer Hearth; this one "
                    "knows versions up to {}",
                    version, known));
  for (; version < known; ++version) {
    std::vector<Statement> statements;
    for (const std::string_view sql : migrations()[static_cast<std::size_t>(version)])
      statements.push_back({sql});
    statements.push_back({insert_version, {version + 1}});
    co_await database_->transact(std::move(statements));
  }
  background_.start("write the marks of sessions", write_marks());
}

Task<> SessionStore::insert(SessionRecord record) {
  std::vector<Statement> statements{with_columns(insert_session, record)};
  co_await database_->transact(std::move(statements));
}

// A mark that was made before is older than what is written now.
void SessionStore::drop_mark(const std::string& id) {
  marks_.erase(id);
  in_flight_.erase(id);
  marks_changed_.notify_all();  // there may be none left to wait for
}

Task<> SessionStore::change(std::vector<Statement> statements, std::string id) {
  drop_mark(id);
  const Results results = co_await database_->transact(std::move(statements));
  if (results[0].changed == 0)
    throw StaleWrite("the session " + id + " is gone or has a newer generation");
}

Task<> SessionStore::update(SessionRecord record) {
  std::vector<Statement> statements{with_columns(update_session, record)};
  co_await change(std::move(statements), record.id);
}

Task<> SessionStore::interrupted(std::string id, std::int64_t last_used_at,
                                 std::int64_t generation) {
  std::vector<Statement> statements{{interrupt_session, {id, last_used_at, generation}}};
  co_await change(std::move(statements), std::move(id));
}

Task<> SessionStore::remove(Tombstone tombstone, std::int64_t generation) {
  std::vector<Statement> statements{
      {delete_session, {tombstone.id, generation}},
      {insert_tombstone, {tombstone.id, tombstone.owner, tombstone.removed_at, tombstone.reason}}};
  co_await change(std::move(statements), tombstone.id);
}

Task<> SessionStore::forget_tombstones(std::int64_t removed_before) {
  std::vector<Statement> statements{{delete_tombstones, {removed_before}}};
  co_await database_->transact(std::move(statements), Durability::relaxed);
}

Task<std::size_t> SessionStore::mark_all_cold() {
  std::vector<Statement> statements{{mark_sessions_cold}};
  const Results results = co_await database_->transact(std::move(statements));
  co_return static_cast<std::size_t>(results[0].changed);
}

// ---- marks

void SessionStore::mark(const SessionRecord& record) {
  marks_.insert_or_assign(record.id, record);
  marks_changed_.notify_all();
}

Task<> SessionStore::marked() {
  while (!marks_.empty() || is_writing_) {
    // An attempt that runs now may be without the latest marks.
    const std::uint64_t enough = attempts_ + (is_writing_ ? 2 : 1);
    co_await marks_changed_.wait_until(
        [&] { return attempts_ >= enough || (marks_.empty() && !is_writing_); });
    if (mark_failure_) std::rethrow_exception(mark_failure_);
  }
}

Task<> SessionStore::write_marks() {
  while (true) {
    co_await marks_changed_.wait_until([this] { return !marks_.empty(); });
    co_await write_marks_once();
    if (!mark_failure_) continue;
    asio::steady_timer pause(executor_, retry_pause);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

Task<> SessionStore::write_marks_once() {
  is_writing_ = true;
  std::vector<Statement> statements;
  while (!marks_.empty() && statements.size() < most_marks_at_once) {
    const auto moved = in_flight_.insert(marks_.extract(marks_.begin())).position;
    const SessionRecord& record = moved->second;
    statements.push_back(
        {mark_session,
         {record.id, text(name_of(record.state)), record.last_used_at, record.generation}});
  }
  std::exception_ptr failure;
  try {
    co_await database_->transact(std::move(statements), Durability::relaxed);
  } catch (const Error& error) {
    failure = std::current_exception();
    log::warning("states of sessions were not written", {{"error", error.what()}});
    marks_.merge(in_flight_);  // but those that have a newer mark
  }
  in_flight_.clear();
  is_writing_ = false;
  mark_failure_ = failure;
  ++attempts_;
  marks_changed_.notify_all();
}

// ---- questions

Task<std::optional<SessionRecord>> SessionStore::find(std::string id) {
  std::vector<Statement> statements{{select_session, {std::move(id)}}};
  const Results results = co_await database_->transact(std::move(statements));
  if (results[0].rows.empty()) co_return std::nullopt;
  co_return record_of(results[0].rows[0]);
}

Task<std::optional<Tombstone>> SessionStore::find_tombstone(std::string id) {
  std::vector<Statement> statements{{select_tombstone, {std::move(id)}}};
  const Results results = co_await database_->transact(std::move(statements));
  if (results[0].rows.empty()) co_return std::nullopt;
  const Row& row = results[0].rows[0];
  co_return Tombstone{.id = text_of(row[0]),
                      .owner = text_of(row[1]),
                      .removed_at = number_of(row[2]),
                      .reason = text_of(row[3])};
}

Task<std::vector<SessionRecord>> SessionStore::list(ListQuery query) {
  const Value state = query.state ? text(name_of(*query.state)) : Value(std::string());
  std::vector<Statement> statements{
      {select_sessions, {query.after.created_at, query.after.id, query.owner, state, query.limit}}};
  const Results results = co_await database_->transact(std::move(statements));
  co_return records_of(results[0]);
}

Task<std::optional<SessionRecord>> SessionStore::eviction_candidate(
    std::optional<SessionRecord> after) {
  const std::int64_t tier = after ? tier_of(after->state) : -1;
  const std::int64_t last_used_at = after ? after->last_used_at : 0;
  const std::string id = after ? after->id : std::string();
  std::vector<Statement> statements{{select_candidate, {tier, last_used_at, id}}};
  const Results results = co_await database_->transact(std::move(statements));
  if (results[0].rows.empty()) co_return std::nullopt;
  co_return record_of(results[0].rows[0]);
}

Task<std::vector<SessionRecord>> SessionStore::expired(std::int64_t now, std::int64_t limit) {
  std::vector<Statement> statements{{select_expired, {now, limit}}};
  const Results results = co_await database_->transact(std::move(statements));
  co_return records_of(results[0]);
}

Task<std::map<SessionState, std::int64_t>> SessionStore::counts() {
  std::vector<Statement> statements{{count_sessions}};
  const Results results = co_await database_->transact(std::move(statements));
  std::map<SessionState, std::int64_t> counts;
  for (const Row& row : results[0].rows) counts[state_of(text_of(row[0]))] = number_of(row[1]);
  co_return counts;
}

Task<> SessionStore::close() {
  co_await background_.close();
  co_await database_->close();
}

}  // namespace hearth::store
