// tests/support/any_store.h: a store of the test's own: tables in the Postgres server that
// HEARTH_TEST_POSTGRES names, else a file of SQLite.
#pragma once

#include "base/error.h"
#include "base/id.h"
#include "store/postgres_connection.h"
#include "store/postgres_database.h"
#include "store/sqlite_database.h"
#include "tests/support/temporary_directory.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace hearth::test {

class AnyStore {
 public:
  // `parent`: where a file of SQLite is.
  explicit AnyStore(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : directory_(parent) {
    const char* server = std::getenv("HEARTH_TEST_POSTGRES");
    if (server == nullptr) return;
    schema_ = "test_" + random_id();
    server_ = server;
    in_server("CREATE SCHEMA " + schema_);
  }
  ~AnyStore() {
    if (is_postgres()) in_server("DROP SCHEMA " + schema_ + " CASCADE");
  }
  AnyStore(const AnyStore&) = delete;
  AnyStore& operator=(const AnyStore&) = delete;

  bool is_postgres() const { return !server_.empty(); }
  // Of Postgres, with the schema of this test.
  std::string url() const { return server_ + "&options=-csearch_path%3D" + schema_; }

  Task<std::unique_ptr<store::Database>> open(asio::any_io_executor executor) const {
    if (is_postgres()) co_return co_await store::open_postgres(std::move(executor), url());
    co_return co_await store::open_sqlite(file());
  }
  std::filesystem::path file() const { return directory_.path() / "sessions.db"; }

 private:
  void in_server(const std::string& sql) const {
    const store::PostgresHandle handle = store::connect_postgres(server_, std::chrono::seconds(10));
    PGresult* result = ::PQexec(handle.get(), sql.c_str());
    const bool is_done = ::PQresultStatus(result) == PGRES_COMMAND_OK;
    ::PQclear(result);
    if (!is_done) throw Error(::PQerrorMessage(handle.get()));
  }

  TemporaryDirectory directory_;
  std::string server_;
  std::string schema_;
};

}  // namespace hearth::test
