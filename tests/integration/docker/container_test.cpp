// Sandboxes that are containers: the P rows about spawning, as the engine and the script see it.
#include "base/id.h"
#include "base/scope_exit.h"
#include "docker/docker_sandbox.h"
#include "os/run_program.h"
#include "runtime/docker_backend.h"
#include "tests/support/any_backend.h"
#include "tests/support/docker_pool.h"

#include <doctest/doctest.h>

#include <sys/mount.h>
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <set>

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

TEST_CASE("a container has no network, whatever its blueprint allows") {
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
  for (std::uint64_t use = 1; use <= 3; ++use) {
    pool::Lease lease = pool.checkout();
    CHECK(lease.use_count() == use);
    docker::DockerSandbox& sandbox = container(lease.sandbox());
    CHECK(sandbox.id().size() == 12);
    CHECK(sandbox.container_id().starts_with(sandbox.id()));
    if (first.empty()) first = sandbox.id();
    CHECK(sandbox.id() == first);  // reset and reused
    SandboxChannel& channel = lease.sandbox().channel();
    wire::RunRequest request;
    request.execution_id = "by-hand";
    request.script = "print('x')";
    run_task(pool.loop, channel.send(request));
    std::vector<std::string> events;
    while (events.empty() || events.back() != "script_done")
      events.emplace_back(wire::type_of(run_task(pool.loop, channel.receive()).event.body));
    CHECK(events == std::vector<std::string>{"stdout", "script_done"});
    lease = {};
    pool.run_until([&] { return pool.stats().idle == 1; });
  }
}

TEST_CASE("P15: by default a container serves fifty leases of one owner, then another does") {
  DockerPool pool({docker_config()});
  pool.startup();
  std::string first;
  for (std::uint64_t use = 1; use <= 50; ++use) {
    pool::Lease lease = pool.checkout();
    if (first.empty()) first = lease.sandbox_id();
    REQUIRE(lease.sandbox_id() == first);
    REQUIRE(lease.use_count() == use);
    lease = {};
    pool.run_until([&] { return pool.stats().idle == 1; });
  }
  CHECK(pool.checkout().sandbox_id() != first);
  pool.run_until([&] { return is_gone(first); });
}

TEST_CASE("P30: a container that cannot be made fails its caller, and its place is free again") {
  const TemporaryDirectory place;
  ::chmod(place.path().c_str(), 0755);
  const std::filesystem::path shown = place.path() / "shown";
  std::filesystem::create_directory(shown);
  blueprint::SandboxConfig config = docker_config("default", 0);
  config.resources = {{shown.string(), "/data", true, {}}};
  settings::Settings settings;
  settings.pool.max_overflow = 2;
  runtime::RuntimeOptions options;
  options.fleet.circuit.opens_after = 100;
  DockerPool pool({config}, settings, options);
  pool.startup();
  std::filesystem::remove(shown);  // the engine refuses to bind what is not there
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(pool.checkout(), backend::SpawnError);
  std::filesystem::create_directory(shown);
  const pool::Lease one = pool.checkout();
  pool::Lease two = pool.checkout();
  CHECK(pool.turn(two, "print('well')").stdout_text == "well\n");
  CHECK(pool.stats().live == 2);
}

TEST_CASE("P35: the containers that a pool knows of are those that the engine lists") {
  settings::Settings settings;
  settings.pool.max_overflow = 2;
  DockerPool pool({docker_config("default", 2)}, settings);
  const auto listed = [&] {
    std::set<std::string> ids;
    for (const json::value& one : containers_with(pool.owner()))
      ids.emplace(std::string(one.at("Id").as_string()).substr(0, 12));
    return ids;
  };
  const auto known = [&] {
    const std::vector<std::string> ids = pool.pool.live_ids();
    return std::set<std::string>(ids.begin(), ids.end());
  };
  pool.startup();
  CHECK(known().size() == 2);
  CHECK(listed() == known());
  {
    std::vector<pool::Lease> leases;
    for (int i = 0; i < 4; ++i) leases.push_back(pool.checkout());
    CHECK(known().size() == 4);
    CHECK(listed() == known());
    leases.front().mark_unusable();
    call_engine({.method = "POST", .path = "/containers/" + leases.back().sandbox_id() + "/kill"});
  }
  pool.run_until([&] { return pool.stats().idle == 2 && pool.stats().live == 2; });
  pool.run_until([&] { return listed().size() == 2; });
  CHECK(listed() == known());
}

TEST_CASE("H25: with tools by mount one image serves many sets of tools") {
  const auto pool_with = [](settings::ToolPlace place, const std::string& source) {
    settings::Settings settings;
    settings.docker.tools = place;
    auto pool = std::make_unique<DockerPool>(std::vector{docker_config()}, settings);
    registry::Tool tool;
    tool.config = {.name = "answers", .blueprints = {"default"}};
    tool.source = source;
    pool->registry.register_tool(tool);
    pool->startup();
    return pool;
  };
  const std::string script = R"(
import errno, os
print(answer(), sorted(name for name in os.listdir("/tools") if name[0] != "_"))
try: open("/tools/x.py", "w")
except OSError as error: print(errno.errorcode[error.errno])
)";
  std::set<std::string> images;
  const auto image_of = [](pool::Lease& lease) {
    return std::string(inspect(lease.sandbox()).at("Image").as_string());
  };
  for (const std::string number : {"1", "2"}) {
    const auto pool =
        pool_with(settings::ToolPlace::mount, "def answer(): return " + number + "\n");
    CHECK(docker::ShownTools::instances(pool->state.path()).size() == 1);
    pool::Lease lease = pool->checkout();
    CHECK(pool->turn(lease, script).stdout_text == number + " ['answers.py']\nEROFS\n");
    images.insert(image_of(lease));
  }
  CHECK(images.size() == 1);

  const auto baked = pool_with(settings::ToolPlace::image, "def answer(): return 3\n");
  pool::Lease lease = baked->checkout();
  CHECK(baked->turn(lease, script).stdout_text == "3 ['answers.py']\nEROFS\n");
  CHECK_FALSE(images.contains(image_of(lease)));
}

TEST_CASE("P23: a program of the image with the set-user bit gives no rights") {
  const TemporaryDirectory place;
  const auto docker = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--host=" + engine_address().text());
    const os::ProgramResult result =
        os::run_program({.program = "docker", .arguments = std::move(arguments)});
    REQUIRE_MESSAGE(result.succeeded(), result.errors);
    return result.output;
  };
  place.write("Dockerfile",
              "FROM python:3.11-slim\nRUN cp /usr/bin/id /usr/bin/id-of-root && "
              "chmod 4755 /usr/bin/id-of-root\n");
  docker({"build", "--quiet", "--network=none", "--tag", "hearth-test-setuid:1",
          place.path().string()});
  const ScopeExit removed([] { remove_image("hearth-test-setuid:1"); });
  // It does give them where nothing forbids it.
  CHECK(docker({"run", "--rm", "--network=none", "--user=12345", "hearth-test-setuid:1",
                "id-of-root", "-u"}) == "0\n");

  settings::Settings settings;
  settings.docker.base_image = "hearth-test-setuid:1";
  DockerPool pool({docker_config("setuid")}, settings);
  run_task(pool.loop, pool.pool.startup());
  pool::Lease lease = pool.checkout({}, "setuid");
  CHECK(pool.turn(lease, R"(
import os, subprocess
said = subprocess.run(["id-of-root", "-u"], capture_output=True, text=True).stdout
print(int(said) == os.getuid() > 10001)
)")
            .stdout_text == "True\n");
}

TEST_CASE("C26: the value of a secret is in no layer of an image that a script used it in") {
  const std::string value = "hush-" + random_id();
  const std::string known = "known_" + random_id();
  blueprint::SandboxConfig config = docker_config();
  config.secrets = {"KEY"};
  runtime::RuntimeOptions options;
  options.secrets = {{"KEY", Secret(value)}};
  DockerPool pool({config}, {}, options);
  registry::Tool tool;
  tool.config = {.name = "mark", .blueprints = {"default"}};
  tool.source = "# " + known + "\n";
  pool.registry.register_tool(tool);
  pool.startup();
  pool::Lease lease = pool.checkout();
  CHECK(pool.turn(lease, "import os\nprint(os.environ['KEY'])").stdout_text == value + "\n");
  // Names, history, configuration and the files of every layer.
  const auto count = [&](const std::string& text) {
    const os::ProgramResult result = os::run_program(
        {.program = "/bin/sh",
         .arguments = {"-c", "docker --host=\"$1\" save \"$2\" | grep -c -a -F -- \"$3\"", "sh",
                       engine_address().text(), pool.tag_of("default"), text}});
    INFO(result.errors);
    return std::atoi(result.output.c_str());
  };
  CHECK(count(known) > 0);
  CHECK(count(value) == 0);
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

TEST_CASE("P32: one that is not ready in time is given up, and nothing of it is left") {
  CHECK(docker::DockerEngineOptions{}.ready_limit == std::chrono::seconds(30));
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
