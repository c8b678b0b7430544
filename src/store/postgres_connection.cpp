#include "store/postgres_connection.h"

#include "base/log.h"
#include "store/errors.h"

#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace hearth::store {
namespace {

// What pg_type.h calls them.
constexpr Oid type_int8 = 20;
constexpr Oid type_int2 = 21;
constexpr Oid type_int4 = 23;
constexpr Oid type_text = 25;

struct ClearResult {
  void operator()(PGresult* result) const { ::PQclear(result); }
};
using ResultHandle = std::unique_ptr<PGresult, ClearResult>;

std::string without_line_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::int64_t number_in(const char* text) {
  std::int64_t number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

Value value_in(const PGresult* result, int row, int column) {
  if (::PQgetisnull(result, row, column) != 0) return {};
  const char* text = ::PQgetvalue(result, row, column);
  const Oid type = ::PQftype(result, column);
  if (type == type_int8 || type == type_int4 || type == type_int2) return number_in(text);
  return std::string(text, static_cast<std::size_t>(::PQgetlength(result, row, column)));
}

Result result_in(PGresult* from) {
  Result result;
  for (int row = 0; row < ::PQntuples(from); ++row) {
    Row& values = result.rows.emplace_back();
    for (int column = 0; column < ::PQnfields(from); ++column)
      values.push_back(value_in(from, row, column));
  }
  result.changed = number_in(::PQcmdTuples(from));
  return result;
}

// Without it libpq writes them to standard error.
void log_notice(void* /*context*/, const char* message) {
  log::debug("store: the server says something", {{"notice", without_line_end(message)}});
}

}  // namespace

PostgresHandle connect_postgres(const std::string& url, std::chrono::seconds limit) {
  const std::string seconds = std::to_string(limit.count());
  const std::string milliseconds = std::to_string(limit.count() * 1000);
  // What stands in the URL wins.
  const std::array<const char*, 7> keys{"connect_timeout",
                                        "application_name",
                                        "client_encoding",
                                        "tcp_user_timeout",
                                        "keepalives_idle",
                                        "dbname",
                                        nullptr};
  const std::array<const char*, 7> values{
      seconds.c_str(), "hearth", "UTF8", milliseconds.c_str(), "10", url.c_str(), nullptr};
  PostgresHandle handle(::PQconnectdbParams(keys.data(), values.data(), 1));
  if (!handle) throw StoreUnavailable("the store: out of memory");
  if (::PQstatus(handle.get()) != CONNECTION_OK)
    throw StoreUnavailable("the store cannot be reached: " +
                           without_line_end(::PQerrorMessage(handle.get())));
  ::PQsetNoticeProcessor(handle.get(), log_notice, nullptr);
  return handle;
}

PostgresConnection::PostgresConnection(const asio::any_io_executor& executor, PostgresHandle handle)
    : handle_(std::move(handle)), socket_(executor, ::PQsocket(handle_.get())) {
  if (::PQsetnonblocking(handle_.get(), 1) != 0 || ::PQenterPipelineMode(handle_.get()) != 1)
    fail("set up a connection");
}

PostgresConnection::~PostgresConnection() { socket_.release(); }  // libpq closes it

void PostgresConnection::fail(const std::string& what) const {
  throw StoreUnavailable("the store: " + what + ": " +
                         without_line_end(::PQerrorMessage(handle_.get())));
}

// Notices what the server said or did while nothing was asked of it.
bool PostgresConnection::is_broken() {
  return ::PQstatus(handle_.get()) != CONNECTION_OK || ::PQconsumeInput(handle_.get()) != 1 ||
         ::PQstatus(handle_.get()) != CONNECTION_OK;
}

void PostgresConnection::send(const Statement& statement) {
  std::vector<std::string> texts;
  std::vector<Oid> types;
  std::vector<const char*> values;
  texts.reserve(statement.values.size());  // `values` points into it
  for (const Value& value : statement.values) {
    const auto* number = std::get_if<std::int64_t>(&value);
    const auto* text = std::get_if<std::string>(&value);
    types.push_back(number != nullptr ? type_int8 : text != nullptr ? type_text : 0);
    texts.push_back(number != nullptr ? std::to_string(*number)
                    : text != nullptr ? *text
                                      : std::string());
    values.push_back(number == nullptr && text == nullptr ? nullptr : texts.back().c_str());
  }
  const std::string sql(statement.sql);
  if (::PQsendQueryParams(handle_.get(), sql.c_str(), static_cast<int>(values.size()), types.data(),
                          values.data(), nullptr, nullptr, 0) != 1)
    fail("send a statement");
}

Task<> PostgresConnection::flush() {
  while (true) {
    const int left = ::PQflush(handle_.get());
    if (left < 0) fail("send");
    if (left == 0) co_return;
    co_await socket_.async_wait(asio::posix::stream_descriptor::wait_write, asio::use_awaitable);
  }
}

Task<> PostgresConnection::await_result() {
  while (::PQisBusy(handle_.get()) != 0) {
    co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    if (::PQconsumeInput(handle_.get()) != 1) fail("receive");
  }
}

Task<PGresult*> PostgresConnection::next_result() {
  co_await await_result();
  co_return ::PQgetResult(handle_.get());
}

// Of each statement its result and an end; after all of them, that of the synchronisation.
Task<Results> PostgresConnection::receive(std::size_t count) {
  Results results;
  std::string failure;
  for (std::size_t index = 0; index < count; ++index) {
    const ResultHandle result(co_await next_result());
    const ExecStatusType status = ::PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      results.push_back(result_in(result.get()));
    } else if (failure.empty()) {
      failure = result ? without_line_end(::PQresultErrorMessage(result.get())) : "";
      if (failure.empty()) failure = without_line_end(::PQerrorMessage(handle_.get()));
      if (failure.empty()) failure = "the connection ended";
    }
    if (::PQstatus(handle_.get()) != CONNECTION_OK) break;
    if (const ResultHandle end(co_await next_result()); end) break;
  }
  while (::PQstatus(handle_.get()) == CONNECTION_OK) {
    const ResultHandle result(co_await next_result());
    if (::PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) break;
  }
  if (failure.empty() && ::PQstatus(handle_.get()) != CONNECTION_OK)
    failure = without_line_end(::PQerrorMessage(handle_.get()));
  if (!failure.empty()) {
    if (::PQstatus(handle_.get()) == CONNECTION_OK &&
        ::PQtransactionStatus(handle_.get()) != PQTRANS_IDLE)
      co_await roll_back();
    throw StoreUnavailable("the store: " + failure);
  }
  co_return results;
}

Task<> PostgresConnection::roll_back() {
  send({"ROLLBACK"});
  if (::PQpipelineSync(handle_.get()) != 1) fail("roll back");
  co_await flush();
  while (::PQstatus(handle_.get()) == CONNECTION_OK) {
    const ResultHandle result(co_await next_result());
    if (::PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) co_return;
  }
}

Task<Results> PostgresConnection::transact(std::vector<Statement> statements,
                                           Durability durability) {
  send({"BEGIN"});
  send({durability == Durability::synced ? "SET LOCAL synchronous_commit = on"
                                         : "SET LOCAL synchronous_commit = off"});
  for (const Statement& statement : statements) send(statement);
  send({"COMMIT"});
  if (::PQpipelineSync(handle_.get()) != 1) fail("send");
  co_await flush();
  Results results = co_await receive(statements.size() + 3);
  results.erase(results.begin(), results.begin() + 2);
  results.pop_back();
  co_return results;
}

}  // namespace hearth::store
