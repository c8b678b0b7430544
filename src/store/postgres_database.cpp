#include "store/postgres_database.h"

#include "async/blocking.h"
#include "async/mutex.h"
#include "async/within.h"
#include "base/log.h"
#include "store/errors.h"
#include "store/postgres_connection.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace hearth::store {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// The schema's name is part of the lock: several stores may share a database. A connection of ours
// that broke may still live in the server, and hold it.
constexpr std::string_view end_former_connection =
    "SELECT pg_terminate_backend(pid, 1000) FROM pg_locks WHERE locktype = 'advisory' AND granted"
    " AND classid = 1751478643 AND objid = (hashtext(current_schema())::bigint & 4294967295)::oid"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND pid = $1";
constexpr std::string_view take_lock =
    "SELECT CASE WHEN pg_try_advisory_lock(1751478643, hashtext(current_schema())) THEN 1 ELSE 0 "
    "END";

class PostgresDatabase : public Database {
 public:
  PostgresDatabase(asio::any_io_executor executor, std::string url, PostgresOptions options)
      : executor_(std::move(executor)), url_(std::move(url)), options_(options) {}
  ~PostgresDatabase() override { thread_.join(); }

  Task<> open() {
    const Mutex::Lock lock = co_await one_at_a_time_.lock();
    co_await connect();
  }

  Task<Results> transact(std::vector<Statement> statements, Durability durability) override {
    const Mutex::Lock lock = co_await one_at_a_time_.lock();
    if (is_closed_) throw StoreUnavailable("the store is closed");
    if (connection_ && connection_->is_broken()) connection_.reset();
    if (!connection_) co_await connect();
    co_return co_await limited(std::move(statements), durability);
  }

  Task<> close() override {
    const Mutex::Lock lock = co_await one_at_a_time_.lock();
    is_closed_ = true;
    connection_.reset();
  }

 private:
  // A connection that has not ended in good order may hold an answer to another question: it is
  // given up.
  Task<Results> limited(std::vector<Statement> statements, Durability durability) {
    Results results;
    std::exception_ptr failure;
    try {
      co_await within(options_.time_limit, into(results, std::move(statements), durability));
    } catch (const DeadlineExceeded&) {
      connection_.reset();
      failure = std::make_exception_ptr(
          StoreUnavailable("the store did not answer in time (store.time_limit_ms)"));
    } catch (const StoreUnavailable&) {
      if (connection_->is_broken()) connection_.reset();
      failure = std::current_exception();
    } catch (...) {
      connection_.reset();
      failure = std::current_exception();
    }
    if (failure) std::rethrow_exception(failure);
    co_return results;
  }

  Task<> into(Results& results, std::vector<Statement> statements, Durability durability) {
    results = co_await connection_->transact(std::move(statements), durability);
  }

  Task<> connect() {
    if (connect_failure_ && std::chrono::steady_clock::now() < retry_at_)
      std::rethrow_exception(connect_failure_);
    try {
      const auto limit = std::max(std::chrono::seconds(2),
                                  std::chrono::ceil<std::chrono::seconds>(options_.time_limit));
      PostgresHandle handle = co_await on_thread(
          thread_, [&](const std::stop_token& /*stop*/) { return connect_postgres(url_, limit); });
      connection_.emplace(executor_, std::move(handle));
      co_await own_schema();
      if (former_process_ != 0) log::info("store is connected again");
      former_process_ = connection_->server_process();
      connect_failure_ = nullptr;
    } catch (...) {
      connection_.reset();
      connect_failure_ = std::current_exception();
      retry_at_ = std::chrono::steady_clock::now() + options_.retry_after;
    }
    if (connect_failure_) std::rethrow_exception(connect_failure_);
  }

  // The server may need a moment to notice that the process before this one has exited.
  Task<> own_schema() {
    constexpr int attempts = 10;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      if (co_await takes_lock()) co_return;
      asio::steady_timer pause(executor_, std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::use_awaitable);
    }
    throw StoreInUse(
        "another Hearth process owns the store in this Postgres schema; end it, or give this one "
        "another store.url");
  }

  Task<bool> takes_lock() {
    std::vector<Statement> statements{{end_former_connection, {std::int64_t{former_process_}}},
                                      {take_lock}};
    const Results results = co_await limited(std::move(statements), Durability::synced);
    co_return results.at(1).rows.at(0).at(0) == Value(std::int64_t{1});
  }

  asio::any_io_executor executor_;
  std::string url_;
  PostgresOptions options_;
  asio::thread_pool thread_{1};  // connects
  Mutex one_at_a_time_;
  std::optional<PostgresConnection> connection_;
  int former_process_ = 0;  // of the server
  bool is_closed_ = false;
  std::exception_ptr connect_failure_;
  SteadyTime retry_at_;
};

}  // namespace

Task<std::unique_ptr<Database>> open_postgres(asio::any_io_executor executor, std::string url,
                                              PostgresOptions options) {
  auto database = std::make_unique<PostgresDatabase>(std::move(executor), std::move(url), options);
  co_await database->open();
  co_return database;
}

}  // namespace hearth::store
