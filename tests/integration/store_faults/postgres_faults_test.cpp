// A Postgres server that is killed, stopped and cut off while it is used. It has a server of its
// own.
#include "async/blocking.h"
#include "async/task_group.h"
#include "base/id.h"
#include "store/postgres_database.h"
#include "store/session_store.h"
#include "tests/support/postgres_server.h"
#include "tests/support/run_task.h"

#include <doctest/doctest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <set>

using namespace hearth;
using namespace std::chrono_literals;

namespace {

struct Load {
  store::SessionStore& store;
  asio::any_io_executor executor;
  std::set<std::string> acknowledged{};
  std::size_t errors = 0;
  bool is_over = false;

  Task<> pause() const {
    asio::steady_timer timer(executor, 5ms);
    co_await timer.async_wait(asio::use_awaitable);
  }

  Task<> insert_one() {
    const std::string id = random_id();
    bool is_done = false;
    try {
      co_await store.insert({.id = id, .owner = "ann", .blueprint = "default", .details = "{}"});
      is_done = true;
    } catch (const store::StoreUnavailable&) {
      ++errors;
    }
    if (is_done) acknowledged.insert(id);
    if (!is_done) co_await pause();
  }
  Task<> insert_many() {
    while (!is_over) co_await insert_one();
  }
  Task<> until_acknowledged(std::size_t more) const {
    const std::size_t enough = acknowledged.size() + more;
    while (acknowledged.size() < enough) co_await pause();
  }
  Task<> until_failed() const {
    const std::size_t before = errors;
    while (errors == before) co_await pause();
  }
};

Task<> disturb(const test::PostgresServer& server, Load& load, asio::thread_pool& thread) {
  const auto tell = [&](std::string word) {
    return on_thread(thread, [&server, word](const std::stop_token&) { server.run(word); });
  };
  co_await load.until_acknowledged(50);
  for (const auto& [down, up] :
       {std::pair{"kill", "start"}, {"stop", "start"}, {"freeze", "thaw"}, {"kill", "start"}}) {
    co_await tell(down);
    co_await load.until_failed();
    co_await tell(up);
    co_await load.until_acknowledged(50);
  }
  load.is_over = true;
}

Task<std::set<std::string>> all_ids(store::SessionStore& store) {
  std::set<std::string> ids;
  store::ListQuery query;
  while (true) {
    const auto page = co_await store.list(query);
    if (page.empty()) co_return ids;
    for (const auto& record : page) ids.insert(record.id);
    query.after = {page.back().created_at, page.back().id};
  }
}

}  // namespace

TEST_CASE(
    "a Postgres that is killed, stopped or frozen under load costs errors but nothing that "
    "was acknowledged, and the store recovers by itself") {
  const test::PostgresServer server;
  asio::io_context loop(1);
  asio::thread_pool thread(1);
  store::SessionStore store(
      loop.get_executor(),
      test::run_task(loop, store::open_postgres(loop.get_executor(), server.run("url"),
                                                {.time_limit = 500ms, .retry_after = 50ms})));
  test::run_task(loop, store.open());
  Load load{store, loop.get_executor()};
  TaskGroup clients(loop.get_executor());
  for (int client = 0; client < 4; ++client) clients.start("a client", load.insert_many());
  test::run_task(loop, disturb(server, load, thread));
  test::run_task(loop, clients.drained());

  const std::set<std::string> found = test::run_task(loop, all_ids(store));
  CHECK(std::includes(found.begin(), found.end(), load.acknowledged.begin(),
                      load.acknowledged.end()));
  CHECK(load.acknowledged.size() >= 250);
  // What has failed may have happened: at most one write of each client for each disturbance.
  CHECK(found.size() <= load.acknowledged.size() + load.errors);
  test::run_task(loop, store.close());
}
