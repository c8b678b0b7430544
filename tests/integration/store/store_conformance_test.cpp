// What every store must do: this file becomes two programs, one for each database.
#include "async/task_group.h"
#include "store/schema.h"
#include "store/session_store.h"
#include "tests/support/any_store.h"
#include "tests/support/run_task.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace hearth;
using store::SessionRecord;
using store::SessionState;
using store::SessionStore;
using store::Tombstone;

namespace {

class Opened {
 public:
  explicit Opened(const test::AnyStore& where)
      : store_(loop_.get_executor(), run(where.open(loop_.get_executor()))) {
    run(store_.open());
  }
  ~Opened() { run(store_.close()); }

  template <typename T>
  T run(Task<T> task) {
    return test::run_task(loop_, std::move(task));
  }
  SessionStore* operator->() { return &store_; }
  asio::io_context& loop() { return loop_; }

 private:
  asio::io_context loop_{1};
  SessionStore store_;
};

SessionRecord record(const std::string& id, SessionState state = SessionState::waiting,
                     std::int64_t last_used_at = 1000) {
  return {.id = id,
          .owner = "ann",
          .blueprint = "default",
          .state = state,
          .created_at = 500,
          .last_used_at = last_used_at,
          .details = R"({"labels":{"k":"ü \" ' \\"}})"};
}

std::vector<std::string> ids_of(const std::vector<SessionRecord>& records) {
  std::vector<std::string> ids;
  for (const SessionRecord& found : records) ids.push_back(found.id);
  return ids;
}

}  // namespace

TEST_CASE("a record is found as it was written, also by the next process") {
  const test::AnyStore where;
  SessionRecord written = record("ses_1");
  written.expires_at = 9'000'000'000'123;
  written.generation = 7;
  {
    Opened store(where);
    store.run(store->insert(written));
    CHECK(store.run(store->find("ses_1")) == written);
    CHECK_THROWS_AS(store.run(store->insert(written)), store::StoreUnavailable);
    CHECK_FALSE(store.run(store->find("ses_2")));
  }
  Opened store(where);
  CHECK(store.run(store->find("ses_1")) == written);
  written.expires_at.reset();
  store.run(store->update(written));
  CHECK(store.run(store->find("ses_1")) == written);
}

TEST_CASE("a write of an older generation changes nothing and says so") {
  const test::AnyStore where;
  Opened store(where);
  SessionRecord current = record("ses_1");
  current.generation = 5;
  store.run(store->insert(current));
  SessionRecord stale = current;
  stale.generation = 4;
  stale.owner = "eve";
  CHECK_THROWS_AS(store.run(store->update(stale)), store::StaleWrite);
  CHECK_THROWS_AS(store.run(store->remove({.id = "ses_1"}, 4)), store::StaleWrite);
  stale.state = SessionState::running;
  store->mark(stale);
  store.run(store->marked());
  CHECK(store.run(store->find("ses_1")) == current);
  CHECK_FALSE(store.run(store->find_tombstone("ses_1")));
  CHECK_THROWS_AS(store.run(store->update(record("ses_2"))), store::StaleWrite);
}

TEST_CASE("A27: a session that lost its process is cold and interrupted, and keeps its snapshot") {
  const test::AnyStore where;
  Opened store(where);
  SessionRecord live = record("ses_1");
  live.generation = 5;
  live.state = SessionState::running;
  store.run(store->insert(live));
  CHECK_THROWS_AS(store.run(store->interrupted("ses_1", 9000, 4)), store::StaleWrite);
  CHECK(store.run(store->find("ses_1")) == live);
  // It may have a later generation than the one that the store was told of.
  store.run(store->interrupted("ses_1", 9000, 6));
  live.state = SessionState::cold;
  live.interrupted = true;
  live.last_used_at = 9000;
  CHECK(store.run(store->find("ses_1")) == live);
}

TEST_CASE("a removed session leaves a tombstone until that is forgotten") {
  const test::AnyStore where;
  Opened store(where);
  store.run(store->insert(record("ses_1")));
  const Tombstone tombstone{.id = "ses_1", .owner = "ann", .removed_at = 2000, .reason = "evicted"};
  store.run(store->remove(tombstone, 0));
  CHECK_FALSE(store.run(store->find("ses_1")));
  CHECK(store.run(store->find_tombstone("ses_1")) == tombstone);
  CHECK_THROWS_AS(store.run(store->remove(tombstone, 0)), store::StaleWrite);
  store.run(store->forget_tombstones(2000));
  CHECK(store.run(store->find_tombstone("ses_1")) == tombstone);
  store.run(store->forget_tombstones(2001));
  CHECK_FALSE(store.run(store->find_tombstone("ses_1")));
}

TEST_CASE("A18: marks are written together, the latest of each session, and never over an update") {
  const test::AnyStore where;
  Opened store(where);
  store.run(store->insert(record("ses_1")));
  store.run(store->insert(record("ses_2")));
  for (std::int64_t at = 1; at <= 1000; ++at)
    store->mark(record("ses_1", SessionState::running, 1000 + at));
  store->mark(record("ses_2", SessionState::running, 3000));
  store.run(store->update(record("ses_2", SessionState::cold, 4000)));
  store.run(store->marked());
  CHECK(store.run(store->find("ses_1")) == record("ses_1", SessionState::running, 2000));
  CHECK(store.run(store->find("ses_2")) == record("ses_2", SessionState::cold, 4000));
}

TEST_CASE("A18: a task that waits for a mark does not wait for ever when an update overtakes it") {
  const test::AnyStore where;
  Opened store(where);
  store.run(store->insert(record("ses_1")));
  TaskGroup tasks(store.loop().get_executor());
  tasks.start("wait for marks", store->marked());
  tasks.start("overtake", store->update(record("ses_1", SessionState::cold, 4000)));
  store->mark(record("ses_1", SessionState::running, 2000));
  store.run(tasks.drained());
  CHECK(store.run(store->find("ses_1")) == record("ses_1", SessionState::cold, 4000));
}

TEST_CASE("A19: at a start all rows become cold, and those that were not are counted") {
  const test::AnyStore where;
  {
    Opened store(where);
    int number = 0;
    for (const SessionState state : {SessionState::cold, SessionState::warming, SessionState::warm,
                                     SessionState::waiting, SessionState::running})
      store.run(store->insert(record("ses_" + std::to_string(number++), state)));
  }
  Opened store(where);
  CHECK(store.run(store->mark_all_cold()) == 4);
  CHECK(store.run(store->mark_all_cold()) == 0);
  CHECK_FALSE(store.run(store->find("ses_0"))->interrupted);  // it was cold
  CHECK(store.run(store->find("ses_3"))->interrupted);        // waiting: it may have files
  const std::map<SessionState, std::int64_t> expected{{SessionState::cold, 5}};
  CHECK(store.run(store->counts()) == expected);
}

TEST_CASE("A12: candidates come cold before warm before waiting, each least recently used first") {
  const test::AnyStore where;
  Opened store(where);
  CHECK_FALSE(store.run(store->eviction_candidate()));
  std::vector<SessionRecord> rows;
  int number = 0;
  for (const SessionState state : {SessionState::waiting, SessionState::cold, SessionState::warm,
                                   SessionState::running, SessionState::warming})
    for (const std::int64_t used : {300, 100, 200, 100})
      rows.push_back(record("ses_" + std::to_string(number++), state, used));
  std::shuffle(rows.begin(), rows.end(), std::mt19937(7));
  for (const SessionRecord& row : rows) store.run(store->insert(row));

  std::vector<std::string> order;
  std::optional<SessionRecord> candidate;
  while ((candidate = store.run(store->eviction_candidate(candidate))))
    order.push_back(candidate->id);
  CHECK(order == std::vector<std::string>{"ses_5", "ses_7", "ses_6", "ses_4",    // cold
                                          "ses_11", "ses_9", "ses_10", "ses_8",  // warm
                                          "ses_1", "ses_3", "ses_2", "ses_0"});  // waiting
}

TEST_CASE("lists go on where they ended, of one owner and in one state") {
  const test::AnyStore where;
  Opened store(where);
  for (int number = 0; number < 10; ++number) {
    SessionRecord row = record("ses_" + std::to_string(number),
                               number % 2 == 0 ? SessionState::cold : SessionState::waiting);
    row.created_at = 100 - number / 2;
    if (number == 4) row.owner = "ben";
    store.run(store->insert(row));
  }
  const auto first = store.run(store->list({.owner = "ann", .limit = 4}));
  CHECK(ids_of(first) == std::vector<std::string>{"ses_8", "ses_9", "ses_6", "ses_7"});
  const auto rest =
      store.run(store->list({.owner = "ann", .after = {first.back().created_at, first.back().id}}));
  CHECK(ids_of(rest) == std::vector<std::string>{"ses_5", "ses_2", "ses_3", "ses_0", "ses_1"});
  const auto cold = store.run(store->list({.owner = "ben", .state = SessionState::cold}));
  CHECK(ids_of(cold) == std::vector<std::string>{"ses_4"});
}

TEST_CASE("sessions whose time to live has passed are found, the oldest first") {
  const test::AnyStore where;
  Opened store(where);
  for (const std::int64_t expiry : {30, 10, 20, 40}) {
    SessionRecord row = record("ses_" + std::to_string(expiry));
    row.expires_at = expiry;
    store.run(store->insert(row));
  }
  store.run(store->insert(record("ses_never")));
  CHECK(ids_of(store.run(store->expired(30, 10))) ==
        std::vector<std::string>{"ses_10", "ses_20", "ses_30"});
  CHECK(ids_of(store.run(store->expired(30, 1))) == std::vector<std::string>{"ses_10"});
}

TEST_CASE("one process owns a store, and the next gets a sentence instead") {
  const test::AnyStore where;
  asio::io_context loop(1);
  {
    const Opened store(where);
    try {
      test::run_task(loop, where.open(loop.get_executor()));
      FAIL("two owners");
    } catch (const store::StoreInUse& error) {
      CHECK(std::string(error.what()).starts_with("another Hearth process owns the store"));
    }
  }
  const Opened again(where);
}

TEST_CASE("a store of a newer Hearth is refused and left alone") {
  const test::AnyStore where;
  {
    const Opened store(where);
  }
  asio::io_context loop(1);
  const auto at_version = [&](std::int64_t version) {
    auto database = test::run_task(loop, where.open(loop.get_executor()));
    std::vector<store::Statement> statements{
        {"INSERT INTO hearth_schema (version) VALUES ($1)", {version}}};
    test::run_task(loop, database->transact(std::move(statements)));
    test::run_task(loop, database->close());
  };
  at_version(static_cast<std::int64_t>(store::migrations().size()));
  {
    const Opened store(where);
  }
  at_version(static_cast<std::int64_t>(store::migrations().size()) + 1);
  CHECK_THROWS_AS(Opened{where}, store::StoreTooNew);
}

TEST_CASE("a transaction that fails changes nothing, and the store works on") {
  const test::AnyStore where;
  {
    const Opened store(where);
  }
  asio::io_context loop(1);
  auto database = test::run_task(loop, where.open(loop.get_executor()));
  const auto transact = [&](std::vector<store::Statement> statements) {
    return test::run_task(loop, database->transact(std::move(statements)));
  };
  for (int times = 0; times < 2; ++times) {
    CHECK_THROWS_AS(transact({{"DELETE FROM hearth_schema"}, {"SELECT nothing FROM nowhere"}}),
                    store::StoreUnavailable);
    const store::Results results = transact({{"SELECT count(*) FROM hearth_schema"}});
    CHECK(results.at(0).rows.at(0).at(0) == store::Value(std::int64_t{1}));
  }
  test::run_task(loop, database->close());
}
