// store/database.h: what a store needs of a database: statements in, rows out, all or nothing.
// SQLite and Postgres implement it; the statements are the same for both.
#pragma once

#include "async/task.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hearth::store {

using Value = std::variant<std::monostate, std::int64_t, std::string>;
using Row = std::vector<Value>;

struct Statement {
  std::string_view sql;         // a constant: it is the key under which it is kept prepared
  std::vector<Value> values{};  // of $1, $2, ...
};

struct Result {
  std::vector<Row> rows{};
  std::int64_t changed = 0;  // rows that were written
};
using Results = std::vector<Result>;

enum class Durability {
  synced,   // on the disk when the task returns
  relaxed,  // a crash of the machine may lose it, never tear it
};

class Database {
 public:
  virtual ~Database() = default;

  // One transaction; a result for each statement. Transactions happen in the order they were asked
  // for. Throws StoreUnavailable, and StoreInUse where ownership was lost.
  virtual Task<Results> transact(std::vector<Statement> statements,
                                 Durability durability = Durability::synced) = 0;
  // No transaction may run or follow.
  virtual Task<> close() = 0;
};

}  // namespace hearth::store
