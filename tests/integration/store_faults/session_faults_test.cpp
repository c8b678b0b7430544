// Sessions that are used while their Postgres server is killed, stopped and frozen.
#include "async/blocking.h"
#include "async/task_group.h"
#include "session/session_manager.h"
#include "store/postgres_database.h"
#include "tests/support/fake_sandboxes.h"
#include "tests/support/manual_clock.h"
#include "tests/support/postgres_server.h"
#include "tests/support/run_task.h"

#include <doctest/doctest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace hearth;
using namespace std::chrono_literals;

namespace {

// A process with sessions.
struct Process {
  Process(const test::PostgresServer& server, const std::filesystem::path& snapshots)
      : sandboxes(world) {
    auto store = std::make_unique<store::SessionStore>(
        loop.get_executor(), run(store::open_postgres(loop.get_executor(), server.run("url"),
                                                      {.time_limit = 500ms, .retry_after = 50ms})));
    manager =
        std::make_unique<session::SessionManager>(loop.get_executor(), session::SessionOptions{},
                                                  std::move(store), snapshots, sandboxes, clock);
    run(manager->init());
  }
  template <typename T>
  T run(Task<T> task) {
    return test::run_task(loop, std::move(task));
  }

  asio::io_context loop{1};
  test::ManualClock clock;
  test::FakeWorld world;
  test::FakeSandboxes sandboxes;
  std::unique_ptr<session::SessionManager> manager;
};

struct Load {
  explicit Load(Process& used) : process(used) {}

  Process& process;
  std::map<std::string, int> written{};  // by the last turn that has ended
  std::map<std::string, int> kept{};     // by the last pause that was acknowledged
  std::size_t pauses = 0;
  std::size_t turns = 0;
  std::size_t errors = 0;
  bool is_over = false;

  Task<> pause() const {
    asio::steady_timer timer(process.loop.get_executor(), 5ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
  Task<> use(std::string id) {
    bool has_failed = false;
    try {
      const int version = written[id] + 1;
      co_await process.manager->run(id, "ann", {.script = "write a " + std::to_string(version)});
      written[id] = version;
      ++turns;
      co_await process.manager->pause(id, "ann");
      kept[id] = version;
      ++pauses;
    } catch (const store::StoreUnavailable&) {
      has_failed = true;
    }
    if (has_failed) ++errors;
    if (has_failed) co_await pause();
  }
  Task<> use_it_again(std::string id) {
    while (!is_over) co_await use(id);
  }
  template <typename Holds>
  Task<> until(Holds holds) const {
    while (!holds()) co_await pause();
  }
};

Task<> disturb(const test::PostgresServer& server, Load& load, asio::thread_pool& thread) {
  const auto tell = [&](std::string word) {
    return on_thread(thread, [&server, word](const std::stop_token&) { server.run(word); });
  };
  for (const auto& [down, up] :
       {std::pair{"kill", "start"}, {"stop", "start"}, {"freeze", "thaw"}}) {
    co_await load.until([&load, enough = load.pauses + 30] { return load.pauses >= enough; });
    co_await tell(down);
    co_await load.until([&load, enough = load.errors + 8] { return load.errors >= enough; });
    co_await tell(up);
  }
  co_await load.until([&load, enough = load.pauses + 30] { return load.pauses >= enough; });
  load.is_over = true;
}

}  // namespace

TEST_CASE(
    "A20: while Postgres is away calls of sessions fail and do not hang, and no pause that was "
    "acknowledged is lost") {
  const test::PostgresServer server;
  const test::TemporaryDirectory directory;
  asio::thread_pool thread(1);
  // Never closed: it is as if it were killed.
  static Process* process = new Process(server, directory.path() / "snapshots");
  static Load* load = new Load(*process);
  static auto* clients = new TaskGroup(process->loop.get_executor());
  std::vector<std::string> ids;
  for (int number = 0; number < 4; ++number)
    ids.push_back(
        process->run(process->manager->create({.owner = "ann", .blueprint = "default"})).record.id);
  for (const std::string& id : ids) clients->start("a client", load->use_it_again(id));
  process->run(disturb(server, *load, thread));
  process->run(clients->drained());
  const std::string live = ids.front();
  process->run(process->manager->resume(live, "ann"));
  server.run("kill");
  // What is live needs no database.
  CHECK(process->run(process->manager->run(live, "ann", {.script = "read a"})).result.stdout_text ==
        std::to_string(load->written.at(live)));
  server.run("start");

  Process next(server, directory.path() / "snapshots");
  for (const std::string& id : ids) {
    const session::RunAnswer answer = next.run(next.manager->run(id, "ann", {.script = "read a"}));
    const int version = std::stoi(answer.result.stdout_text);
    CHECK(version >= load->kept.at(id));
    CHECK(version <= load->written.at(id));
    if (version < load->written.at(id)) CHECK(answer.resumed->work_lost);
  }
  next.run(next.manager->close());
}
