// Sessions over real sandboxes, on every backend.
#include "pool/errors.h"
#include "tests/support/every_pool.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;
using session::Background;
using session::ResumeSource;
using store::SessionState;

namespace {

template <typename Pool>
struct Sessions : Pool {
  using Pool::Pool;
  void open() {
    this->startup();
    manager = this->run(this->runtime->open_sessions());
  }
  std::string create() {
    return this->run(manager->create({.owner = "ann", .blueprint = "default"})).record.id;
  }
  session::RunAnswer step(const std::string& id, std::string script) {
    return this->run(manager->run(id, "ann", {.script = std::move(script)}));
  }
  std::string start(const std::string& id, std::string line) {
    return this->run(manager->start(id, "ann", {.shell = std::move(line)})).command.execution_id;
  }
  SessionState state(const std::string& id) {
    return this->run(manager->get(id, "ann")).record.state;
  }
  // What a background command prints, up to and including `text`.
  std::string output_until(const std::string& id, const std::string& command,
                           const std::string& text) {
    std::string output;
    this->run(manager->use(id, "ann", [&](session::LiveSandbox& sandbox) {
      return read_until(sandbox, command, text, output);
    }));
    return output;
  }

  session::SessionManager* manager = nullptr;

 private:
  // cppcheck-suppress passedByValue; a coroutine keeps what it is given
  static Task<> read_until(session::LiveSandbox& sandbox, std::string command, std::string text,
                           std::string& output) {
    CommandReader reader = co_await sandbox.commands().attach(std::move(command));
    while (output.find(text) == std::string::npos) {
      const CommandReader::Piece piece = co_await reader.next();
      if (piece.bytes.empty()) break;
      output += piece.bytes;
    }
  }
};

constexpr const char* count_sleepers = R"py(
import os
def name(pid):
    try: return open(f"/proc/{pid}/comm").read().strip()
    except OSError: return ""
print([name(pid) for pid in os.listdir("/proc") if pid.isdigit()].count("sleep"))
)py";

}  // namespace

TEST_CASE_TEMPLATE("A3: A9: A23: a session has its files and variables again after a pause", Pool,
                   IN_EVERY_POOL) {
  Sessions<Pool> sessions;
  sessions.open();
  const std::string id = sessions.create();
  CHECK(sessions.step(id, "import math; x = [1]; open('a', 'w').write('kept')").result.verdict ==
        Verdict::ok);
  CHECK(sessions.run(sessions.manager->resume(id, "ann")).source == ResumeSource::warm);
  CHECK(sessions.run(sessions.manager->pause(id, "ann")).generation == 1);
  const session::RunAnswer answer =
      sessions.step(id, "print(open('a').read(), x, math.floor(1.5))");
  CHECK(answer.result.stdout_text == "kept [1] 1\n");
  CHECK(answer.resumed->source == ResumeSource::snapshot);
  CHECK(sessions.manager->stats().resume_cold_hits == 1);
}

TEST_CASE_TEMPLATE("A25: A26: one pool serves sessions and single runs, beside each other", Pool,
                   IN_EVERY_POOL) {
  Sessions<Pool> sessions;
  sessions.open();
  sessions.run_until([&] { return sessions.stats().idle == 1; });
  CHECK(sessions.manager->stats().warm == 1);  // the spare
  const std::string id = sessions.create();
  const std::array<std::uint64_t, pool::checkout_kinds> checkouts = sessions.stats().checkouts;
  CHECK(checkouts.at(static_cast<std::size_t>(pool::CheckoutKind::warm)) == 1);  // it is taken
  const std::string taken = sessions.step(id, "x = 1").sandbox_id;
  // A session's lease takes no place of those that are for single runs.
  pool::Lease lease = sessions.checkout();
  CHECK(lease.sandbox_id() != taken);
  CHECK(sessions.turn(lease, "print('x' in globals())").stdout_text == "False\n");
  CHECK(sessions.step(id, "print(x)").result.stdout_text == "1\n");
}

TEST_CASE_TEMPLATE("a session's background command goes on across turns and a restart", Pool,
                   IN_EVERY_POOL) {
  Sessions<Pool> sessions;
  sessions.open();
  const std::string id = sessions.create();
  const std::string command =
      sessions.start(id, "echo one; until [ -e go ]; do sleep 0.05; done; echo two");
  CHECK(sessions.step(id, "x = 1; print('a turn')").result.stdout_text == "a turn\n");
  sessions.run(sessions.manager->restart(id, "ann"));
  CHECK(sessions.step(id, "print('x' in dir())").result.stdout_text == "False\n");
  CHECK(sessions.output_until(id, command, "one\n") == "one\n");
  const auto listed = sessions.run(sessions.manager->commands(id, "ann"));
  REQUIRE(listed.size() == 1);
  CHECK(listed.front().execution_id == command);
  CHECK_FALSE(listed.front().ending);
  CHECK_THROWS_AS(sessions.run(sessions.manager->pause(id, "ann")), session::SessionBusy);
  sessions.step(id, "open('go', 'w').close()");
  CHECK(sessions.output_until(id, command, "never") == "one\ntwo\n");
  sessions.run_until(
      [&] { return sessions.run(sessions.manager->get(id, "ann")).running.empty(); });
  CHECK(sessions.run(sessions.manager->commands(id, "ann")).front().exit_code == 0);
  CHECK(sessions.run(sessions.manager->pause(id, "ann")).ended_executions.empty());
}

TEST_CASE_TEMPLATE("a pause that ends commands keeps what they had written, and nothing goes on",
                   Pool, IN_EVERY_POOL) {
  Sessions<Pool> sessions;
  sessions.open();
  const std::string id = sessions.create();
  // One that writes all the time, one that hears no signal but SIGKILL, one that hides its child.
  const std::string writer =
      sessions.start(id, "n=0; while :; do n=$((n+1)); echo $n >> log; echo on; done");
  const std::string deaf =
      sessions.start(id, "trap '' INT TERM; echo on; while :; do sleep 60; done");
  const std::string hidden =
      sessions.start(id, "setsid sleep 600 & setsid sleep 600 & echo on; wait");
  for (const std::string& one : {writer, deaf, hidden})
    CHECK(sessions.output_until(id, one, "on\n").starts_with("on\n"));
  sessions.run_until([&] { return sessions.step(id, count_sleepers).result.stdout_text == "3\n"; });
  const session::PauseAnswer paused =
      sessions.run(sessions.manager->pause(id, "ann", Background::end));
  CHECK(paused.ended_executions.size() == 3);
  CHECK(paused.generation == 1);
  const session::RunAnswer answer =
      sessions.step(id, "print(open('log').read().startswith('1\\n2\\n'))");
  CHECK(answer.result.stdout_text == "True\n");
  CHECK(sessions.step(id, count_sleepers).result.stdout_text == "0\n");
  CHECK(sessions.run(sessions.manager->commands(id, "ann")).empty());
}

TEST_CASE_TEMPLATE("commands, scripts in other languages and files are used beside a turn", Pool,
                   IN_EVERY_POOL) {
  Sessions<Pool> sessions;
  sessions.open();
  const std::string id = sessions.create();
  TaskGroup turn(sessions.loop.get_executor());
  std::string said;
  turn.start("a turn", [](Sessions<Pool>& on, std::string name, std::string& out) -> Task<> {
    const session::RunAnswer answer = co_await on.manager->run(
        name, "ann",
        {.script =
             "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('done')"});
    out = answer.result.stdout_text;
  }(sessions, id, said));
  sessions.run_until([&] { return sessions.state(id) == SessionState::running; });
  std::string printed;
  sessions.run(sessions.manager->use(id, "ann", [&](session::LiveSandbox& sandbox) {
    return [](session::LiveSandbox& in, std::string& out) -> Task<> {
      execution::Turn command = in.command({.shell = "echo beside; touch go"}, {}, {});
      const execution::ExecutionResult result = co_await command.finished();
      out = result.stdout_text;
    }(sandbox, printed);
  }));
  CHECK(printed == "beside\n");
  sessions.run(turn.drained());
  CHECK(said == "done\n");
}
