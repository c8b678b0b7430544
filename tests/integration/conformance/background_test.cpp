// Background commands in leases, on every backend: they outlive turns, and nothing else.
#include "execution/background.h"
#include "tests/support/every_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

// Up to and including `text`; all of it if that never comes.
Task<std::string> read_until(SandboxCommands commands, std::string id, std::string text) {
  CommandReader reader = co_await commands.attach(std::move(id));
  std::string output;
  while (output.find(text) == std::string::npos) {
    const CommandReader::Piece piece = co_await reader.next();
    if (piece.bytes.empty()) break;
    output += piece.bytes;
  }
  co_return output;
}

std::size_t running(const std::vector<wire::CommandInfo>& commands) {
  return static_cast<std::size_t>(
      std::count_if(commands.begin(), commands.end(),
                    [](const wire::CommandInfo& one) { return one.background && !one.ending; }));
}

// The processes of a sandbox but init, the harness and what waits for scripts.
constexpr const char* count_sleepers = R"py(
import os
def name(pid):
    try: return open(f"/proc/{pid}/comm").read().strip()
    except OSError: return ""
print([name(pid) for pid in os.listdir("/proc") if pid.isdigit()].count("sleep"))
)py";

}  // namespace

TEST_CASE_TEMPLATE("a background command outlives turns, and its output is kept and goes on", Pool,
                   IN_EVERY_POOL) {
  Pool pool;
  pool.startup();
  pool::Lease lease = pool.checkout();
  const std::string id = start(
      pool, lease, "echo one; echo two >&2; until [ -e go ]; do sleep 0.05; done; echo three");
  CHECK(pool.turn(lease, "print('a turn')").stdout_text == "a turn\n");
  CHECK(pool.run(read_until(lease.commands(), id, "two\n")) == "one\ntwo\n");
  const std::vector<wire::CommandInfo> commands = pool.run(lease.commands().list());
  REQUIRE(commands.size() == 1);
  CHECK(commands.front().execution_id == id);
  CHECK(commands.front().output_bytes == 8);
  CHECK_FALSE(commands.front().ending);
  CHECK(pool.turn(lease, "open('go', 'w')").verdict == Verdict::ok);
  const wire::CommandInfo ended = pool.run(lease.commands().ended(id));
  CHECK(ended.ending == wire::Ending::completed);
  CHECK(ended.exit_code == 0);
  CHECK(pool.run(read_until(lease.commands(), id, "never")) == "one\ntwo\nthree\n");
}

TEST_CASE_TEMPLATE("background commands are signalled and ended", Pool, IN_EVERY_POOL) {
  Pool pool;
  pool.startup();
  pool::Lease lease = pool.checkout();
  const std::string deaf = start(pool, lease, "trap '' INT; echo on; while :; do sleep 60; done");
  const std::string polite =
      start(pool, lease, "trap 'echo bye; exit 4' USR1; echo on; while :; do sleep 0.05; done");
  CHECK(pool.run(read_until(lease.commands(), deaf, "on\n")) == "on\n");
  CHECK(pool.run(read_until(lease.commands(), polite, "on\n")) == "on\n");
  lease.commands().signal(polite, "USR1");
  CHECK(pool.run(lease.commands().ended(polite)).exit_code == 4);
  CHECK(pool.run(read_until(lease.commands(), polite, "never")).ends_with("bye\n"));
  lease.commands().cancel(deaf);
  CHECK(pool.run(lease.commands().ended(deaf)).ending == wire::Ending::cancelled);
  CHECK(pool.turn(lease, count_sleepers).stdout_text == "0\n");
  CHECK_THROWS_AS(pool.run(lease.commands().attach("no such id")), NoSuchCommand);
  CHECK_THROWS_AS(pool.run(execution::start_background(lease, {.command = {"no-such-program"}})),
                  execution::CommandNotStarted);
  CHECK(pool.run(lease.commands().list()).size() == 2);
}

TEST_CASE_TEMPLATE("a background command prints without a reader, and its last output is kept",
                   Pool, IN_EVERY_POOL) {
  Pool pool;
  pool.startup();
  pool::Lease lease = pool.checkout();
  const std::string id = start(pool, lease, "seq 1 400000");
  const wire::CommandInfo ended = pool.run(lease.commands().ended(id));
  CHECK(ended.exit_code == 0);
  CommandReader reader = pool.run(lease.commands().attach(id));
  CHECK(reader.position() == ended.output_bytes - wire::kept_output_bytes);
  std::string output;
  while (true) {
    const CommandReader::Piece piece = pool.run(reader.next());
    if (piece.bytes.empty()) break;
    CHECK(piece.position == ended.output_bytes - wire::kept_output_bytes + output.size());
    output += piece.bytes;
  }
  CHECK(output.size() == wire::kept_output_bytes);
  CHECK(output.ends_with("\n399999\n400000\n"));
  // From the middle of it, as a reader does that comes back.
  CHECK(pool.run(lease.commands().attach(id, ended.output_bytes - 7)).position() ==
        ended.output_bytes - 7);
}

TEST_CASE_TEMPLATE("what background commands print is no event, and each has its own", Pool,
                   IN_EVERY_POOL) {
  Pool pool;
  pool.startup();
  pool::Lease lease = pool.checkout();
  const std::string forged = R"({"type":"script_done","execution_id":"x","ending":"completed"})";
  const std::string one = start(pool, lease, "echo '" + forged + "'; sleep 600");
  const std::string other = start(pool, lease, "echo other; sleep 600");
  CHECK(pool.run(read_until(lease.commands(), one, "\n")) == forged + "\n");
  CHECK(pool.run(read_until(lease.commands(), other, "\n")) == "other\n");
  const auto result = pool.turn(lease, "print('mine')");
  CHECK(result.stdout_text == "mine\n");
  CHECK(result.foreign_events == 0);
}

TEST_CASE_TEMPLATE("50 background commands go on across 200 turns of a lease, and end with it",
                   Pool, IN_EVERY_POOL) {
  blueprint::SandboxConfig config = Pool::config();
  config.resource_limits.pids_limit = 400;
  Pool pool(config);
  pool.startup();
  std::string sandbox;
  {
    pool::Lease lease = pool.checkout();
    sandbox = lease.sandbox_id();
    for (int number = 0; number < 50; ++number) start(pool, lease, "sleep 600; echo left");
    for (int turn = 0; turn < 200; ++turn) {
      // What a turn leaves ends with it, and not what the commands are.
      const auto result =
          pool.turn(lease, "import subprocess; subprocess.Popen(['sleep', '600']); print('ok')");
      REQUIRE(result.verdict == Verdict::ok);
    }
    const std::vector<wire::CommandInfo> commands = pool.run(lease.commands().list());
    CHECK(running(commands) == 50);
    CHECK(std::all_of(commands.begin(), commands.end(),
                      [](const auto& one) { return one.output_bytes == 0; }));
    CHECK(pool.turn(lease, count_sleepers).stdout_text == "50\n");
  }
  // The same sandbox, reset for another lease of the same owner.
  pool::Lease next = pool.checkout();
  REQUIRE(next.sandbox_id() == sandbox);
  CHECK(pool.run(next.commands().list()).empty());
  CHECK(pool.turn(next, count_sleepers).stdout_text == "0\n");
}

TEST_CASE_TEMPLATE("a fork bomb in a background command ends with it", Pool, IN_EVERY_POOL) {
  Pool pool;
  pool.startup();
  pool::Lease lease = pool.checkout();
  const std::string id = start(pool, lease, R"sh(python3 -c '
import os
print("lit", flush=True)
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
')sh");
  CHECK(pool.run(read_until(lease.commands(), id, "lit\n")) == "lit\n");
  lease.commands().cancel(id);
  CHECK(pool.run(lease.commands().ended(id)).ending == wire::Ending::cancelled);
  const auto result = pool.turn(lease, "print('still here')");
  CHECK(result.stdout_text == "still here\n");
}
