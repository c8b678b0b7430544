// tests/support/faulty_database.h: a database that is late, or fails, as a test wants it: before a
// transaction, or after it, when it is written and the caller is told otherwise.
#pragma once

#include "async/mutex.h"
#include "store/database.h"

#include <functional>
#include <memory>
#include <utility>

namespace hearth::test {

enum class When { before, after };

class FaultyDatabase : public store::Database {
 public:
  // May wait, and throw.
  using Trouble = std::function<Task<>(When when, store::Durability durability)>;

  FaultyDatabase(std::unique_ptr<store::Database> database, Trouble trouble)
      : database_(std::move(database)), trouble_(std::move(trouble)) {}

  Task<store::Results> transact(std::vector<store::Statement> statements,
                                store::Durability durability) override {
    const Mutex::Lock in_order = co_await one_at_a_time_.lock();
    co_await trouble_(When::before, durability);
    store::Results results = co_await database_->transact(std::move(statements), durability);
    co_await trouble_(When::after, durability);
    co_return results;
  }
  Task<> close() override { co_await database_->close(); }

 private:
  std::unique_ptr<store::Database> database_;
  Trouble trouble_;
  Mutex one_at_a_time_;
};

}  // namespace hearth::test
