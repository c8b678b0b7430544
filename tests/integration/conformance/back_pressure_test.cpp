// A reader that is slow or does not read at all, of whatever a sandbox has for it: what it does not
// take waits in the sandbox, and neither the host's memory nor init's grows.
#include "tests/support/every_pool.h"
#include "tests/support/files_place.h"
#include "tests/support/running_command.h"

#include <unistd.h>

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

constexpr std::uint64_t content_bytes = std::uint64_t{96} << 20;
// A third of what there is to send, and much more than windows and buffers.
constexpr std::uint64_t growth_bytes = std::uint64_t{32} << 20;

std::uint64_t memory_of_host() {
  std::ifstream status("/proc/self/statm");
  std::uint64_t pages = 0;
  status >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Whatever is measured, this was asked before it, so that all programs have what they need.
template <typename Pool>
std::uint64_t memory_of_init(Pool& pool, pool::Lease& lease) {
  const auto result = pool.turn(lease, R"py(
print(next(line.split()[1] for line in open('/proc/1/status') if line.startswith('VmHWM:')))
)py");
  REQUIRE(result.verdict == Verdict::ok);
  return std::stoull(result.stdout_text) << 10;
}

template <typename Pool>
struct Measured {
  Pool pool;
  std::unique_ptr<pool::Lease> lease;
  std::uint64_t host = 0;
  std::uint64_t init = 0;

  Measured() : pool(roomy()) {
    pool.startup();
    lease = std::make_unique<pool::Lease>(pool.checkout());
    const auto made = pool.turn(*lease, R"py(
import os
os.mkfifo('fifo')
with open('large', 'wb') as file:
    for _ in range(96): file.write(os.urandom(1 << 20))
)py");
    INFO("error: ", made.error ? made.error->traceback : "none");
    REQUIRE(made.verdict == Verdict::ok);
    init = memory_of_init(pool, *lease);
    host = memory_of_host();
  }
  static blueprint::SandboxConfig roomy() {
    blueprint::SandboxConfig config = Pool::config();
    config.scratch_size_mb = 128;
    config.resource_limits.memory_mb = 512;
    config.resource_limits.cpu_quota = 2;
    return config;
  }
  // After a time in which all of it would have come, if it did not wait.
  void check() {
    CHECK(pool.turn(*lease, "import time; time.sleep(2)").verdict == Verdict::ok);
    CHECK(memory_of_init(pool, *lease) < init + growth_bytes);
    CHECK(memory_of_host() < host + growth_bytes);
  }
};

}  // namespace

TEST_CASE_TEMPLATE("a file that its reader takes slowly, or not, waits in the sandbox", Pool,
                   IN_EVERY_POOL) {
  Measured<Pool> measured;
  std::vector<FileReader> idle;
  for (int number = 0; number < 8; ++number)
    idle.push_back(measured.pool.run(measured.lease->files().open("large")));
  measured.check();
  std::uint64_t bytes = 0;
  while (true) {
    const std::string some = measured.pool.run(idle.front().next());
    if (some.empty()) break;
    bytes += some.size();
    REQUIRE(memory_of_host() < measured.host + growth_bytes);
  }
  CHECK(bytes == content_bytes);
  measured.check();
}

TEST_CASE_TEMPLATE("a tree that its reader takes slowly, or not, waits in the sandbox", Pool,
                   IN_EVERY_POOL) {
  Measured<Pool> measured;
  SandboxFiles files = measured.lease->files();
  const auto begin = [&]() -> Task<std::unique_ptr<TreeReader>> {
    std::unique_ptr<TreeReader> tree = co_await files.read_tree(".", any_tree);
    while (const auto entry = co_await tree->next())
      if (entry->path == "large") co_return tree;
    throw Error("it is not there");
  };
  std::vector<std::unique_ptr<TreeReader>> idle;
  for (int number = 0; number < 8; ++number) idle.push_back(measured.pool.run(begin()));
  measured.check();
  std::uint64_t bytes = 0;
  while (true) {
    const std::string some = measured.pool.run(idle.front()->read());
    if (some.empty()) break;
    bytes += some.size();
    REQUIRE(memory_of_host() < measured.host + growth_bytes);
  }
  CHECK(bytes == content_bytes);
}

TEST_CASE_TEMPLATE("a command whose output its reader does not take waits, and goes on with it",
                   Pool, IN_EVERY_POOL) {
  Measured<Pool> measured;
  wire::ExecRequest request;
  request.shell = "cat large; echo all > done";
  request.timeout_seconds = 600;
  request.max_output_bytes = content_bytes;
  RunningCommand command(measured.pool.loop, measured.lease->sandbox(), request,
                         {.holds_output = true});
  command.wait_for_start();
  measured.check();
  CHECK(
      measured.pool.turn(*measured.lease, "import os; print(os.path.exists('done'))").stdout_text ==
      "False\n");
  command.release();
  CHECK(command.finished().verdict == Verdict::ok);
  CHECK(command.output.size() == content_bytes);
}

TEST_CASE_TEMPLATE("a background command waits for no reader, and a slow one learns what it missed",
                   Pool, IN_EVERY_POOL) {
  Measured<Pool> measured;
  const std::string id = start(measured.pool, *measured.lease, "read go < fifo; cat large");
  std::vector<CommandReader> idle;
  for (int number = 0; number < 8; ++number)
    idle.push_back(measured.pool.run(measured.lease->commands().attach(id)));
  CHECK(measured.pool.turn(*measured.lease, "open('fifo', 'w').write('go\\n')").verdict ==
        Verdict::ok);
  const wire::CommandInfo ended = measured.pool.run(measured.lease->commands().ended(id));
  CHECK(ended.exit_code == 0);
  CHECK(ended.output_bytes == content_bytes);
  measured.check();
  // All that it has not missed, up to the end, at its place.
  for (CommandReader& reader : idle) {
    std::uint64_t got = 0;
    std::uint64_t at = 0;
    while (true) {
      const CommandReader::Piece piece = measured.pool.run(reader.next());
      if (piece.bytes.empty()) break;
      CHECK(piece.position >= at);
      at = piece.position + piece.bytes.size();
      got += piece.bytes.size();
    }
    CHECK(at == content_bytes);
    CHECK(got < content_bytes);
    CHECK(got >= wire::kept_output_bytes);
  }
}
