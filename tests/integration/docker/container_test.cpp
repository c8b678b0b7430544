// Sandboxes that are containers: the P rows about spawning, as the engine and the script see it.
#include "docker/docker_sandbox.h"
#include "runtime/docker_backend.h"
#include "tests/support/any_backend.h"
#include "tests/support/docker_pool.h"

#include <doctest/doctest.h>

#include <sys/mount.h>
#include <sys/stat.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;
namespace json = boost::json;

namespace {

docker::DockerSandbox& container(backend::Sandbox& sandbox) {
  return dynamic_cast<docker::DockerSandbox&>(sandbox);
}

json::value inspect(backend::Sandbox& sandbox) {
  return call_engine({.path = "/containers/" + container(sandbox).container_id() + "/json"}).body;
}

bool is_gone(const std::string& id) {
  return call_engine({.path = "/containers/" + id + "/json", .accepted = {404}}).status == 404;
}

}  // namespace

TEST_CASE("P17: a secret is the map's, else the environment's, P18: and a script sees it") {
  blueprint::SandboxConfig config = docker_config();
  config.secrets = {"FROM_MAP", "FROM_ENV", "FROM_BOTH"};
  runtime::RuntimeOptions options;
  options.secrets = {{"FROM_MAP", Secret("map")}, {"FROM_BOTH", Secret("map wins")}};
  DockerPool pool({config}, {}, options, {{"FROM_ENV", "env"}, {"FROM_BOTH", "env"}});
  pool.startup();
  pool::Lease lease = pool.checkout();
  const auto result = pool.turn(lease, R"(
import os
print([os.environ[name] for name in ("FROM_MAP", "FROM_ENV", "FROM_BOTH")])
)");
  CHECK(result.stdout_text == "['map', 'env', 'map wins']\n");
  // The engine tells them to no caller.
  const std::string known = json::serialize(inspect(lease.sandbox()));
  for (const char* name : {"FROM_MAP", "FROM_ENV", "FROM_BOTH"})
    CHECK(known.find(name) == std::string::npos);

  blueprint::SandboxConfig lacking = docker_config();
  lacking.secrets = {"NOWHERE"};
  DockerPool poor({lacking});
  poor.startup();
  pool::Lease without = poor.checkout();
  CHECK(poor.turn(without, "x = 1").verdict == Verdict::missing_secret);
}

TEST_CASE("P19 P20: without a proxy yet, a blueprint that allows hosts has no network") {
  blueprint::SandboxConfig config = docker_config();
  config.network_policy.allowed_hosts = {"example.org"};
  DockerBackend backend(config);
  const auto sandbox = backend.spawn();
  const json::value found = inspect(*sandbox);
  CHECK(found.at("HostConfig").at("NetworkMode") == json::value("none"));
  CHECK(backend.run_in(*sandbox, "print(open('/proc/net/dev').read().count(':'))").stdout_text ==
        "1\n");
}

TEST_CASE("P21: P22: P23: what was ordered is what the engine made") {
  DockerBackend backend;
  const auto sandbox = backend.spawn();
  const json::value found = inspect(*sandbox);
  const json::value& host = found.at("HostConfig");
  CHECK(host.at("ReadonlyRootfs") == json::value(true));
  CHECK(json::serialize(host.at("CapDrop")) == R"(["ALL"])");
  CHECK(host.at("Memory") == json::value(256 << 20));
  CHECK(host.at("LogConfig").at("Type") == json::value("none"));
  const std::string uid = backend.run_in(*sandbox, "import os; print(os.getuid())").stdout_text;
  CHECK(found.at("Config").at("User") == json::value(uid.substr(0, uid.find('\n')) + ":10001"));
  const auto setuid = backend.run_in(*sandbox, R"(
import os, shutil, subprocess
print(subprocess.run(["/usr/bin/su", "-c", "id -u"], capture_output=True).returncode != 0)
print(subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip())
)");
  CHECK(setuid.stdout_text == "True\n" + uid);
}

TEST_CASE("P24: P25: file resources are bound from where the engine's machine has them") {
  const TemporaryDirectory real;
  ::chmod(real.path().c_str(), 0755);
  real.write("who.txt", "the engine's");
  blueprint::SandboxConfig config = docker_config();
  // As a controller in a container would see it; here there is no such directory.
  config.resources = {{"/controller/data/sub", "/data", true, {}}};
  settings::Settings settings;
  settings.host_path_map = {{"/controller", "/nowhere"},
                            {"/controller/data", "/elsewhere"},
                            {"/controller/data/sub", real.path().string()}};
  DockerPool pool({config}, settings);
  pool.startup();
  pool::Lease lease = pool.checkout();
  CHECK(pool.turn(lease, "print(open('/data/who.txt').read())").stdout_text == "the engine's\n");
  CHECK(inspect(lease.sandbox()).at("Mounts").at(0).at("Source") ==
        json::value(real.path().string()));
}

TEST_CASE("P28: a managed container has an id, a writer, a reader and a count of uses") {
  DockerPool pool({docker_config()});
  pool.startup();
  std::string first;
  for (int use = 0; use < 3; ++use) {
    pool::Lease lease = pool.checkout();
    docker::DockerSandbox& sandbox = container(lease.sandbox());
    CHECK(sandbox.id().size() == 12);
    CHECK(sandbox.container_id().starts_with(sandbox.id()));
    CHECK(pool.turn(lease, "print('x')").stdout_text == "x\n");
    if (first.empty()) first = sandbox.id();
    CHECK(sandbox.id() == first);  // reset and used again
    lease = {};
    pool.run_until([&] { return pool.stats().idle == 1; });
  }
}

TEST_CASE("a container that ends by itself is noticed, and another takes its place") {
  DockerPool pool({docker_config()});
  pool.startup();
  const auto ids = pool.pool.live_ids();
  REQUIRE(ids.size() == 1);
  call_engine({.method = "POST", .path = "/containers/" + ids.front() + "/kill"});
  pool.run_until([&] {
    const auto now = pool.pool.live_ids();
    return now.size() == 1 && now.front() != ids.front() && pool.stats().idle == 1;
  });
  pool.run_until([&] { return is_gone(ids.front()); });
}

TEST_CASE("a container killed in the middle of a turn is lost, one out of memory is that") {
  blueprint::SandboxConfig config = docker_config();
  config.resource_limits.memory_mb = 64;
  config.resource_limits.memory_swap_mb = 0;
  DockerBackend backend(config);
  const auto run_and = [&](const std::string& script, const auto& then) {
    const auto sandbox = backend.spawn();
    execution::ScriptExecutor executor(*sandbox);
    wire::RunRequest request;
    request.script = script;
    return run_task(backend.loop(), executor.run(request, [&](const wire::Event& event) {
      if (std::holds_alternative<wire::Stdout>(event.body)) then(container(*sandbox));
    }));
  };
  const auto killed = run_and(
      "print('begun', flush=True)\nimport time\ntime.sleep(60)",
      [](docker::DockerSandbox& sandbox) {
        call_engine({.method = "POST", .path = "/containers/" + sandbox.container_id() + "/kill"});
      });
  CHECK(killed.verdict == Verdict::lost);
  // Init is the only process left to take the memory of: it writes what fills the workspace.
  const auto starved = run_and(R"(
import os
os.setpriority(os.PRIO_PROCESS, 0, 19)
try: open(f"/proc/{os.getpid()}/oom_score_adj", "w").write("500")
except OSError: pass
print("begun", flush=True)
x = bytearray(1 << 30)
)",
                               [](docker::DockerSandbox&) {});
  CHECK(starved.verdict == Verdict::memory_limit);
}

TEST_CASE("a container that cannot become ready leaves nothing, and says why") {
  SUBCASE("a preloaded module that does not exist") {
    blueprint::SandboxConfig config = docker_config("broken");
    config.preload = {"no_such_module"};
    DockerBackend backend(config);
    CHECK_THROWS_WITH_AS(backend.spawn(), doctest::Contains("no_such_module"), backend::SpawnError);
  }
  SUBCASE("a file resource that does not exist") {
    blueprint::SandboxConfig config = docker_config("lacking");
    config.resources = {{"/no/such/directory", "/data", true, {}}};
    DockerBackend backend(config);
    CHECK_THROWS_WITH_AS(backend.spawn(), doctest::Contains("/no/such/directory"),
                         backend::SpawnError);
  }
  for (const char* name : {"broken", "lacking"})
    CHECK(containers_with(std::string(docker::blueprint_label) + '=' + name).empty());
}

TEST_CASE("one that is not ready in time is given up, and nothing of it is left") {
  registry::ToolRegistry registry;
  blueprint::SandboxConfig config = docker_config("slow");
  registry.register_blueprint(config);
  registry::Tool tool;
  tool.config.name = "sleepy";
  tool.config.blueprints = {"slow"};
  tool.source = "import time\ntime.sleep(60)\ndef f(): pass\n";
  registry.register_tool(tool);
  asio::io_context loop(1);
  const TemporaryDirectory state;
  docker::DockerEngineOptions options = docker_host_options(state.path());
  options.ready_limit = std::chrono::milliseconds(1500);
  runtime::DockerBackend backend(loop.get_executor(), registry, image_options(), options);
  const auto source = run_task(loop, backend.open("slow", {}, {}));
  CHECK_THROWS_AS(run_task(loop, source->spawn()), backend::ReadyTimeout);
  run_task(loop, source->close());
  CHECK(containers_with(std::string(docker::blueprint_label) + "=slow").empty());
}

TEST_CASE("the engine's own seccomp profile is not what is used") {
  DockerBackend backend;
  // Which Docker's default allows and ours does not.
  CHECK(backend
            .run("import ctypes; l = ctypes.CDLL(None, use_errno=True)\n"
                 "print(l.syscall(250, 0, 0, 0, 0), ctypes.get_errno())")
            .stdout_text == "-1 1\n");
}

TEST_CASE("an administrator's change of a container makes it fail its probe") {
  DockerBackend backend;
  const auto sandbox = backend.spawn();
  CHECK_NOTHROW(run_task(backend.loop(), sandbox->probe()));
  call_engine({.method = "POST",
               .path = "/containers/" + container(*sandbox).container_id() + "/update",
               .body = {{"PidsLimit", 4000}}});
  CHECK_THROWS_WITH_AS(run_task(backend.loop(), sandbox->probe()),
                       doctest::Contains("its processes are not limited as wanted"),
                       backend::SpawnError);
}

TEST_CASE("gVisor runs the same scripts") {
  DockerBackend backend(docker_config(), {}, "runsc");
  const auto sandbox = backend.spawn();
  CHECK(inspect(*sandbox).at("HostConfig").at("Runtime") == json::value("runsc"));
  CHECK(backend.run_in(*sandbox, "print(6 * 7)").stdout_text == "42\n");
  CHECK(backend.run_in(*sandbox, "1 / 0").verdict == Verdict::error);
  CHECK(backend.run_in(*sandbox, "while True: pass", 1).verdict == Verdict::timeout);
}

TEST_CASE("a runtime that the engine has not got is named with those it has") {
  CHECK_THROWS_WITH_AS(DockerBackend(docker_config(), {}, "kata"),
                       doctest::Contains("has no runtime \"kata\"; it has"), Error);
}

TEST_CASE("closing a source ends the containers that are still leased") {
  registry::ToolRegistry registry;
  registry.register_blueprint(docker_config("held"));
  asio::io_context loop(1);
  const TemporaryDirectory state;
  runtime::DockerBackend backend(loop.get_executor(), registry, image_options(),
                                 docker_host_options(state.path()));
  const auto source = run_task(loop, backend.open("held", {}, {}));
  const auto sandbox = run_task(loop, source->spawn());
  const std::string label = std::string(docker::blueprint_label) + "=held";
  REQUIRE(containers_with(label).size() == 1);
  run_task(loop, source->close());
  CHECK(containers_with(label).empty());
  run_task(loop, sandbox->exited());
  CHECK_THROWS_AS(run_task(loop, source->spawn()), backend::SpawnError);
}

TEST_CASE("an image that is removed under a pool is built again") {
  DockerPool pool({docker_config("default", 0)});
  pool.startup();
  remove_image(pool.tag_of("default"));
  pool::Lease lease = pool.checkout();
  CHECK(pool.turn(lease, "print('built')").stdout_text == "built\n");
}

TEST_CASE("what is mounted below a read-only file resource cannot be written either") {
  const TemporaryDirectory shown;
  ::chmod(shown.path().c_str(), 0755);
  const std::string below = shown.path() / "below";
  REQUIRE(::mkdir(below.c_str(), 0777) == 0);
  REQUIRE(::mount("tmpfs", below.c_str(), "tmpfs", 0, "mode=1777") == 0);
  blueprint::SandboxConfig config = docker_config();
  config.resources = {{shown.path(), "/data", true, {}}};
  std::string said;
  {
    DockerBackend backend(config);
    said = backend
               .run(
                   "import errno\n"
                   "try: open('/data/below/x', 'w')\n"
                   "except OSError as error: print(errno.errorcode[error.errno])\n")
               .stdout_text;
  }
  ::umount(below.c_str());
  CHECK(said == "EROFS\n");
}
