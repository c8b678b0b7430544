#include "store/sqlite_database.h"

#include "async/blocking.h"
#include "os/file_lock.h"
#include "os/unique_fd.h"
#include "store/errors.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <boost/asio/thread_pool.hpp>

#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace hearth::store {
namespace {

struct CloseConnection {
  void operator()(sqlite3* connection) const { ::sqlite3_close(connection); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
};

// Used by one thread at a time.
class Connection {
 public:
  explicit Connection(const std::filesystem::path& file);
  Results transact(const std::vector<Statement>& statements, Durability durability);

 private:
  [[noreturn]] void fail(const std::string& step) const;
  void execute(const char* sql);
  void sync_as(Durability durability);
  sqlite3_stmt* prepared(std::string_view sql);
  Result run(const Statement& statement);
  void bind(sqlite3_stmt* prepared, const Statement& statement) const;
  static Row row_of(sqlite3_stmt* prepared);

  std::unique_ptr<sqlite3, CloseConnection> connection_;
  std::unordered_map<std::string_view, std::unique_ptr<sqlite3_stmt, Finalize>> prepared_;
  Durability durability_ = Durability::synced;
};

Connection::Connection(const std::filesystem::path& file) {
  // Created here, so that no other user can read it at any moment. Its companions get its mode.
  const os::UniqueFd created(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!created) throw StoreUnavailable(OsError("open " + file.string()).what());
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int result = ::sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
  connection_.reset(opened);
  if (result != SQLITE_OK) fail("open " + file.string());
  ::sqlite3_busy_timeout(connection_.get(), 5000);  // an operator may look into it
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA synchronous = FULL");
}

void Connection::fail(const std::string& step) const {
  throw StoreUnavailable("the store: " + step + ": " + ::sqlite3_errmsg(connection_.get()));
}

void Connection::execute(const char* sql) {
  if (::sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

// In WAL mode, FULL syncs each commit, and NORMAL only checkpoints.
void Connection::sync_as(Durability durability) {
  if (durability == durability_) return;
  execute(durability == Durability::synced ? "PRAGMA synchronous = FULL"
                                           : "PRAGMA synchronous = NORMAL");
  durability_ = durability;
}

Results Connection::transact(const std::vector<Statement>& statements, Durability durability) {
  sync_as(durability);
  execute("BEGIN IMMEDIATE");
  try {
    Results results;
    results.reserve(statements.size());
    for (const Statement& statement : statements) results.push_back(run(statement));
    execute("COMMIT");
    return results;
  } catch (...) {
    // Some errors have ended the transaction already; then this has nothing to do.
    ::sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

sqlite3_stmt* Connection::prepared(std::string_view sql) {
  auto& found = prepared_[sql];
  if (!found) {
    sqlite3_stmt* fresh = nullptr;
    const int result =
        ::sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                             SQLITE_PREPARE_PERSISTENT, &fresh, nullptr);
    if (result != SQLITE_OK) fail("prepare a statement");
    found.reset(fresh);
  }
  return found.get();
}

// `$1` is a name here, and SQLite numbers names in the order it meets them.
void Connection::bind(sqlite3_stmt* prepared, const Statement& statement) const {
  for (int index = 1; index <= ::sqlite3_bind_parameter_count(prepared); ++index) {
    const char* name = ::sqlite3_bind_parameter_name(prepared, index);
    const auto number = static_cast<std::size_t>(std::strtoul(name + 1, nullptr, 10));
    const Value& value = statement.values.at(number - 1);
    int result = SQLITE_OK;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      result = ::sqlite3_bind_int64(prepared, index, *whole);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      result = ::sqlite3_bind_text64(prepared, index, text->data(), text->size(), SQLITE_STATIC,
                                     SQLITE_UTF8);
    } else {
      result = ::sqlite3_bind_null(prepared, index);
    }
    if (result != SQLITE_OK) fail("bind a value");
  }
}

Row Connection::row_of(sqlite3_stmt* prepared) {
  Row row;
  for (int column = 0; column < ::sqlite3_column_count(prepared); ++column) {
    switch (::sqlite3_column_type(prepared, column)) {
      case SQLITE_NULL:
        row.emplace_back();
        break;
      case SQLITE_INTEGER:
        row.emplace_back(std::int64_t{::sqlite3_column_int64(prepared, column)});
        break;
      default: {
        const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(prepared, column));
        const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(prepared, column));
        row.emplace_back(std::string(text, size));
      }
    }
  }
  return row;
}

Result Connection::run(const Statement& statement) {
  sqlite3_stmt* query = prepared(statement.sql);
  struct Reset {
    sqlite3_stmt* query;
    ~Reset() {
      ::sqlite3_reset(query);
      ::sqlite3_clear_bindings(query);
    }
  } const reset{query};
  bind(query, statement);
  Result result;
  while (true) {
    const int step = ::sqlite3_step(query);
    if (step == SQLITE_DONE) break;
    if (step != SQLITE_ROW) fail("run a statement");
    result.rows.push_back(row_of(query));
  }
  if (::sqlite3_stmt_readonly(query) == 0) result.changed = ::sqlite3_changes(connection_.get());
  return result;
}

os::FileLock owned(std::filesystem::path file) {
  file += ".lock";
  std::optional<os::FileLock> lock = os::FileLock::try_acquire(file);
  if (!lock)
    throw StoreInUse("another Hearth process owns the store (it holds " + file.string() +
                     "); end it, or give this one another state.dir or store.url");
  return *std::move(lock);
}

class SqliteDatabase : public Database {
 public:
  SqliteDatabase(std::unique_ptr<asio::thread_pool> thread, os::FileLock lock,
                 std::unique_ptr<Connection> connection)
      : thread_(std::move(thread)), lock_(std::move(lock)), connection_(std::move(connection)) {}
  ~SqliteDatabase() override { thread_->join(); }

  Task<Results> transact(std::vector<Statement> statements, Durability durability) override {
    if (!connection_) throw StoreUnavailable("the store is closed");
    co_return co_await on_thread(*thread_, [&](const std::stop_token& /*stop*/) {
      return connection_->transact(statements, durability);
    });
  }

  Task<> close() override {
    co_await on_thread(*thread_, [this](const std::stop_token& /*stop*/) { connection_.reset(); });
    lock_.reset();
  }

 private:
  std::unique_ptr<asio::thread_pool> thread_;
  std::optional<os::FileLock> lock_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace

Task<std::unique_ptr<Database>> open_sqlite(std::filesystem::path file) {
  auto thread = std::make_unique<asio::thread_pool>(1);
  os::FileLock lock = owned(file);
  std::unique_ptr<Connection> connection = co_await on_thread(
      *thread,
      [&file](const std::stop_token& /*stop*/) { return std::make_unique<Connection>(file); });
  co_return std::make_unique<SqliteDatabase>(std::move(thread), std::move(lock),
                                             std::move(connection));
}

}  // namespace hearth::store
