// store/postgres_connection.h: one connection to a Postgres server, until it breaks.
#pragma once

#include "async/task.h"
#include "store/database.h"

#include <libpq-fe.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>
#include <string>

namespace hearth::store {

struct FinishConnection {
  void operator()(PGconn* connection) const { ::PQfinish(connection); }
};
using PostgresHandle = std::unique_ptr<PGconn, FinishConnection>;

// Blocks: names are looked up. StoreUnavailable. Without passwords in what it says.
PostgresHandle connect_postgres(const std::string& url, std::chrono::seconds limit);

class PostgresConnection {
 public:
  PostgresConnection(const asio::any_io_executor& executor, PostgresHandle handle);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // All or nothing, in one round trip. StoreUnavailable; the connection is then of no use if
  // is_broken(), or if the task was cancelled.
  Task<Results> transact(std::vector<Statement> statements, Durability durability);
  bool is_broken();
  int server_process() const { return ::PQbackendPID(handle_.get()); }

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void send(const Statement& statement);
  Task<> flush();
  Task<> await_result();
  Task<PGresult*> next_result();
  Task<Results> receive(std::size_t count);
  Task<> roll_back();

  PostgresHandle handle_;
  asio::posix::stream_descriptor socket_;
};

}  // namespace hearth::store
