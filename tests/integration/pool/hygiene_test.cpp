// What one lease leaves for the next: nothing. And what becomes of sandboxes that broke.
#include "base/id.h"
#include "os/read_file.h"
#include "tests/support/host_view.h"
#include "tests/support/native_pool.h"

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;
using pool::Lease;
using pool::Retirement;

namespace {

std::uint64_t retired(const NativePool& pool, Retirement reason) {
  return pool.stats().retired[static_cast<std::size_t>(reason)];
}

// Bytes that a process made the kernel read from disks and write to them.
std::string disk_io_of(pid_t pid) {
  std::istringstream lines(os::read_file("/proc/" + std::to_string(pid) + "/io", 4096));
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("read_bytes:") || line.starts_with("write_bytes:")) found += line + '\n';
  return found;
}

bool is_in_a_file_of(const std::filesystem::path& tree, const std::string& text) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tree))
    if (entry.is_regular_file() &&
        os::read_file(entry.path(), std::size_t{64} << 20).find(text) != std::string::npos)
      return true;
  return false;
}

const std::string make_a_mess = R"py(
import builtins, json, os, subprocess, sys, time
os.makedirs('/workspace/a/b/c')
for name in ('.hidden', 'plain', 'a/b/c/deep'):
    open('/workspace/' + name, 'w').write('secret')
os.symlink('/etc/passwd', '/workspace/link')
os.chmod('/workspace/a/b', 0o500)
open('/tmp/left', 'w').write('secret')
open('/dev/shm/left', 'w').write('secret')
json.dumps = lambda *_: 'patched'
builtins.nonce = 'secret'
os.environ['NONCE'] = 'secret'
held = open('/workspace/held', 'w')
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
)py";

const std::string look_around = R"py(
import builtins, json, os
print(sorted(os.listdir('/workspace')), os.listdir('/tmp'), os.listdir('/dev/shm'))
print(json.dumps(1), hasattr(builtins, 'nonce'), 'NONCE' in os.environ)
print(len([pid for pid in os.listdir('/proc') if pid.isdigit()]))
)py";

}  // namespace

TEST_CASE("P13: P43: nothing of a lease is left for the next one of the same sandbox") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  std::optional<Lease> lease = pool.checkout();
  const std::string id = lease->sandbox_id();
  const std::string clean = pool.turn(*lease, look_around).stdout_text;
  REQUIRE(pool.turn(*lease, make_a_mess).verdict == Verdict::ok);
  CHECK(pool.turn(*lease, look_around).stdout_text != clean);  // within a lease, files stay
  lease.reset();
  pool.run_until([&] { return pool.stats().idle == 1; });
  lease = pool.checkout();
  REQUIRE(lease->sandbox_id() == id);
  CHECK(pool.turn(*lease, look_around).stdout_text == clean);
}

TEST_CASE("P14: /workspace is in memory, and ten thousand files are gone without disk I/O") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  std::optional<Lease> lease = pool.checkout();
  CHECK(pool.turn(*lease, R"py(
print({line.split()[2] for line in open('/proc/mounts') if line.split()[1] == '/workspace'})
for i in range(10_000): open('/workspace/%d' % i, 'w').close()
)py")
            .stdout_text == "{'tmpfs'}\n");
  const std::string id = lease->sandbox_id();
  const pid_t init = init_of(lease->sandbox());
  const std::string before = disk_io_of(init);
  REQUIRE(before.find("write_bytes: ") != std::string::npos);
  lease.reset();
  lease = pool.checkout();
  CHECK(lease->sandbox_id() == id);
  CHECK(disk_io_of(init) == before);
  CHECK(pool.turn(*lease, "import os\nprint(os.listdir('/workspace'))").stdout_text == "[]\n");
}

TEST_CASE(
    "C26: the value of a secret that a script has used is in no file of the state directory") {
  blueprint::SandboxConfig config = pool_config("default", 1);
  config.secrets = {"KEY"};
  registry::Tool tool;
  tool.config = {.name = "mark", .blueprints = {"default"}};
  tool.source = "MARK = 'known by its tool'\n";
  const std::string value = "hush-" + random_id();
  runtime::RuntimeOptions options;
  options.secrets = {{"KEY", Secret(value)}};
  NativePool pool({config}, pool_options(), {tool}, options);
  pool.startup();
  Lease lease = pool.checkout();
  const std::string script =
      "import os\nprint(os.environ['KEY'])\nraise ValueError(os.environ['KEY'])";
  CHECK(pool.turn(lease, script).stdout_text == value + "\n");
  CHECK(is_in_a_file_of(pool.state.path(), "known by its tool"));
  CHECK_FALSE(is_in_a_file_of(pool.state.path(), value));
}

TEST_CASE("P15: P16: fifty leases of one sandbox, then another") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  std::string first;
  for (std::uint64_t cycle = 1; cycle <= 50; ++cycle) {
    Lease lease = pool.checkout();
    if (cycle == 1) first = lease.sandbox_id();
    REQUIRE(lease.sandbox_id() == first);
    REQUIRE(lease.use_count() == cycle);
    if (cycle % 10 == 0) CHECK(pool.turn(lease, "print(1)").verdict == Verdict::ok);
  }
  CHECK(pool.checkout().sandbox_id() != first);
  pool.run_until([&] { return pool.stats().idle == 1; });
  CHECK(retired(pool, Retirement::used_up) == 1);
}

TEST_CASE("P15: by default every lease of the native backend has an unused sandbox") {
  NativePool pool({pool_config("default", 2)}, settings::PoolSettings{});
  pool.startup();
  std::set<std::string> ids;
  for (int i = 0; i < 10; ++i) CHECK(ids.insert(pool.checkout().sandbox_id()).second);
}

TEST_CASE("P29: a script goes in, its events and its result come out") {
  NativePool pool;
  pool.startup();
  Lease lease = pool.checkout();
  std::vector<std::string> types;
  const auto result = pool.run(execution::run_turn(
      lease, {.script = "print('hello')\nemit_result({'answer': 42})"},
      [&](const wire::Event& event) { types.emplace_back(wire::type_of(event.body)); }));
  CHECK(types == std::vector<std::string>{"stdout", "final_result", "script_done"});
  CHECK(result.result->text == R"({"answer":42})");
}

TEST_CASE("P33: P34: a sandbox that was killed in a turn is lost, retired and replaced") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  std::optional<Lease> lease = pool.checkout();
  const std::string id = lease->sandbox_id();
  const auto on_event = [&](const wire::Event&) { lease->sandbox().kill(); };
  const auto result = pool.run(execution::run_turn(
      *lease, {.script = "print('here', flush=True)\nwhile True: pass"}, on_event));
  CHECK(result.verdict == Verdict::lost);
  CHECK(result.started);
  lease.reset();
  pool.run_until([&] { return pool.stats().idle == 1; });
  CHECK(pool.checkout().sandbox_id() != id);
  CHECK(retired(pool, Retirement::crashed) + retired(pool, Retirement::lost) == 1);
}

TEST_CASE("P33: memory that runs out in a turn is a verdict, and the next lease is well") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  std::optional<Lease> lease = pool.checkout();
  CHECK(pool.turn(*lease, "x = b'x' * (1 << 30)").verdict == Verdict::memory_limit);
  lease.reset();
  lease = pool.checkout();
  CHECK(pool.turn(*lease, "print(1)").verdict == Verdict::ok);
}

TEST_CASE("P34: a sandbox that ends while it is idle is replaced and never handed out") {
  NativePool pool({pool_config("default", 2)});
  pool.startup();
  pid_t victim = 0;
  {
    Lease lease = pool.checkout();
    pool.run_until([&] { return pool.stats().idle == 2; });
    for (const pid_t pid : all_processes())
      if (parent_of(pid) == zygote_of(lease.sandbox()) && pid != init_of(lease.sandbox()))
        victim = pid;
    REQUIRE(victim > 0);
    ::kill(victim, SIGKILL);
    pool.run_until([&] { return retired(pool, Retirement::crashed) == 1; });
  }
  pool.run_until([&] { return pool.stats().idle == 2; });
  for (int i = 0; i < 3; ++i) {
    Lease lease = pool.checkout();
    CHECK(pool.turn(lease, "print(1)").verdict == Verdict::ok);
  }
}

TEST_CASE("P44: a sandbox that does not come clean in time is replaced") {
  runtime::RuntimeOptions options;
  options.fleet.reset_limit = std::chrono::milliseconds(300);
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0), {}, options);
  pool.startup();
  std::optional<Lease> lease = pool.checkout();
  const std::string id = lease->sandbox_id();
  REQUIRE(::kill(init_of(lease->sandbox()), SIGSTOP) == 0);
  lease.reset();
  lease = pool.checkout();
  CHECK(lease->sandbox_id() != id);
  CHECK(retired(pool, Retirement::reset_failed) == 1);
}

TEST_CASE("P36: P37: shutdown ends idle, leased and half made sandboxes, and no caller waits on") {
  std::size_t before = 0;
  native_host();
  const auto processes = [] {
    std::size_t count = 0;
    for (pid_t pid : all_processes()) {
      while (pid > 1 && pid != ::getpid()) pid = parent_of(pid);
      if (pid == ::getpid()) ++count;
    }
    return count;
  };
  before = processes();
  {
    NativePool pool({pool_config("default", 3)}, pool_options(1, 3));
    std::optional<Lease> kept;
    pool.startup();
    kept = pool.checkout();
    const Lease second = pool.checkout();
    bool refused = false;
    std::vector<Lease> all;
    for (int i = 0; i < 8; ++i)
      asio::co_spawn(pool.loop, pool.pool->checkout("default"),
                     [&](const std::exception_ptr& failure, Lease lease) {
                       if (failure) refused = true;
                       if (!failure) all.push_back(std::move(lease));
                     });
    pool.run_until([&] { return pool.stats().spawning > 0; });
    pool.run(pool.pool->shutdown());
    pool.run_until([&] { return refused; });
    CHECK(processes() == before);
    CHECK_THROWS_AS(pool.checkout(), pool::PoolClosed);
    pool.run(pool.pool->shutdown());
    pool.runtime.reset();
    CHECK(kept->sandbox_id().size() == 32);  // a lease that was kept holds nothing harmful
    kept.reset();
    all.clear();
  }
  CHECK(processes() == before);
}

TEST_CASE(
    "a sandbox that is well passes its probe, and one that was moved out of its cgroup does not") {
  if (::geteuid() != 0) return;  // only root can move it
  NativePool pool({pool_config("default", 1)});
  pool.startup();
  Lease lease = pool.checkout();
  pool.run(lease.sandbox().probe());
  const auto& native = dynamic_cast<const native::NativeSandbox&>(lease.sandbox());
  std::ofstream(native.cgroup()->directories().front().parent_path() / "cgroup.procs")
      << init_of(lease.sandbox()) << std::flush;
  CHECK_THROWS_AS(pool.run(lease.sandbox().probe()), backend::SpawnError);
}

TEST_CASE("tighter limits hold for the lease that has them, and for no other") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  pool::CheckoutOptions options;
  options.memory_mb = 64;
  options.execution_timeout_sec = 1;
  options.max_output_bytes = 2000;
  options.env = {{"WHO", "ann"}};
  std::optional<Lease> lease = pool.checkout(options);
  CHECK(pool.turn(*lease, "import os\nprint(os.environ['WHO'])").stdout_text == "ann\n");
  CHECK(pool.turn(*lease, "x = b'x' * (100 << 20)").verdict == Verdict::memory_limit);
  CHECK(pool.turn(*lease, "while True: pass").verdict == Verdict::timeout);
  CHECK(pool.turn(*lease, "print('x' * 5000)").verdict == Verdict::output_limit);
  lease.reset();
  pool.run_until([&] { return pool.stats().idle == 1; });
  lease = pool.checkout();
  CHECK(pool.turn(*lease, "x = b'x' * (100 << 20)").verdict == Verdict::ok);
  CHECK(pool.turn(*lease, "import os\nprint('WHO' in os.environ)").stdout_text == "False\n");
}

TEST_CASE("files of a checkout are there before its first turn, and gone after it") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  pool::CheckoutOptions options;
  options.files = {{"data/table.csv", "a,b\n1,2\n"}, {"run.sh", "#!/bin/sh\n", 0755}};
  std::optional<Lease> lease = pool.checkout(options);
  CHECK(lease->kind() == pool::CheckoutKind::warm);
  CHECK(pool.turn(*lease, R"py(
import os
print(open('data/table.csv').read(), oct(os.stat('run.sh').st_mode), os.access('data', os.W_OK))
)py")
            .stdout_text == "a,b\n1,2\n 0o100755 True\n");
  lease.reset();
  lease = pool.checkout();
  CHECK(pool.turn(*lease, "import os\nprint(os.listdir('.'))").stdout_text == "[]\n");
}

TEST_CASE("a file that cannot be written fails the checkout, and the sandbox is not used") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  pool::CheckoutOptions options;
  SUBCASE("because it would be outside") { options.files = {{"../outside", "x"}}; }
  SUBCASE("because it is too large") {
    options.files = {{"large", std::string(std::size_t{65} << 20, 'x')}};
  }
  CHECK_THROWS_AS(pool.checkout(options), Error);
  pool.run_until([&] { return pool.stats().idle == 1; });
  CHECK(retired(pool, Retirement::lost) == 1);
  Lease lease = pool.checkout();
  CHECK(pool.turn(lease, "import os\nprint(os.listdir('.'))").stdout_text == "[]\n");
}
