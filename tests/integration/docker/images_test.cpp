// Images of blueprints: the B rows about building, on the real engine.
#include "builder/tar_archive.h"
#include "docker/container_spec.h"
#include "docker/docker_source.h"
#include "os/unique_fd.h"
#include "tests/support/any_backend.h"
#include "tests/support/docker_engine.h"
#include "tests/support/python_packages.h"

#include <doctest/doctest.h>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <exception>

using namespace hearth;
using namespace hearth::test;
namespace json = boost::json;

namespace {

// Closed also when a test fails, which would not be told otherwise.
struct OpenSource {
  OpenSource(asio::io_context& on, std::shared_ptr<docker::DockerEngine> host, std::string image,
             blueprint::SandboxConfig config)
      : loop(on),
        source(on.get_executor(), std::move(host), std::move(image), std::move(config), {}) {}
  ~OpenSource() { run_task(loop, source.close()); }
  OpenSource(const OpenSource&) = delete;
  OpenSource& operator=(const OpenSource&) = delete;

  asio::io_context& loop;
  docker::DockerSource source;
};

struct Images {
  Images() {
    // One installation: only what it used is pruned.
    static const test::TemporaryDirectory state;
    options.state_dir = state.path();
    options.pip.find_links = {wheels()};
    std::filesystem::create_directory(wheels());
  }
  ~Images() {
    for (const std::string& tag : tags) remove_image(tag);
  }

  std::filesystem::path wheels() const { return place.path() / "wheels"; }
  void add_sandbox(const std::string& name, std::vector<std::string> packages = {}) {
    blueprint::SandboxConfig config = docker_config(name);
    config.dependencies = std::move(packages);
    registry.register_blueprint(config);
  }
  void add_tool(const std::string& name, const std::string& sandbox, std::string source,
                std::vector<std::string> packages = {}) {
    registry::Tool tool;
    tool.config.name = name;
    tool.config.blueprints = {sandbox};
    tool.config.packages = std::move(packages);
    tool.source = std::move(source);
    registry.register_tool(tool);
  }
  std::string tag_of(const std::string& name) const {
    return builder::image_tag(builder::image_build_plan(registry, name, options), options);
  }
  std::unique_ptr<builder::ImageBuilder> open_builder() {
    return run_task(loop, builder::ImageBuilder::open(loop.get_executor(), registry,
                                                      engine_address(), options));
  }
  // By a new builder, as after a restart.
  std::string ensure(const std::string& name) {
    progress.clear();
    const auto builder = open_builder();
    std::string tag = run_task(loop, builder->ensure_sandbox(name, [this](const std::string& line) {
      progress.push_back(line);
    }));
    tags.push_back(tag);
    return tag;
  }
  builder::BuildError failure(const std::string& name) {
    try {
      ensure(name);
    } catch (const builder::BuildError& error) {
      return error;
    }
    FAIL("it was built");
    return {"", ""};
  }
  bool was_built() const { return !progress.empty(); }

  static json::value inspect(const std::string& tag) {
    return call_engine({.path = "/images/" + tag + "/json"}).body;
  }
  // What a script in it prints.
  std::string run(const std::string& tag, const std::string& sandbox, const std::string& script) {
    auto host = run_task(loop, docker::DockerEngine::open(docker_host_options(place.path())));
    OpenSource open(loop, host, tag, registry.blueprint(sandbox));
    const auto one = run_task(loop, open.source.spawn());
    execution::ScriptExecutor executor(*one);
    wire::RunRequest request;
    request.script = script;
    const auto result = run_task(loop, executor.run(request));
    INFO(result.stderr_text);
    CHECK(result.verdict == execution::Verdict::ok);
    return result.stdout_text;
  }

  TemporaryDirectory place;
  asio::io_context loop{1};
  registry::ToolRegistry registry;
  builder::ImageOptions options = image_options();
  std::vector<std::string> progress;
  std::vector<std::string> tags;
};

// Of one blueprint: other tests build beside this one.
std::size_t stages_left(const std::string& sandbox) {
  const json::array all = images_with(builder::image_stage_label);
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const json::value& image) {
        return image.at("Labels").at(builder::image_blueprint_label) == json::value(sandbox);
      }));
}

// By the engine's own record: a build that finds every layer in its cache tags its image, too.
std::size_t times_tagged(const std::string& tag, std::time_t since) {
  const std::string filters = json::serialize(json::object{
      {"type", json::array{"image"}}, {"event", json::array{"tag"}}, {"image", json::array{tag}}});
  std::string events;
  asio::io_context loop(1);
  docker::EngineClient client(engine_address());
  run_task(loop, client.stream({.path = "/events?since=" + std::to_string(since) +
                                        "&until=" + std::to_string(std::time(nullptr) + 1) +
                                        "&filters=" + docker::url_encode(filters)},
                               {}, [&](std::string_view bytes) { events += bytes; }));
  return static_cast<std::size_t>(std::count(events.begin(), events.end(), '\n'));
}

}  // namespace

TEST_CASE("B2: built once, B3: under its checksum, B23: and found at the next start") {
  Images images;
  images.add_sandbox("once");
  const std::string tag = images.ensure("once");
  CHECK(tag == images.tag_of("once"));
  CHECK(tag.starts_with("hearth-sandbox-once:"));
  CHECK(images.was_built());
  CHECK(images.ensure("once") == tag);
  CHECK_FALSE(images.was_built());
  images.options.prefix = "mine/of-";
  CHECK(images.ensure("once").starts_with("mine/of-once:"));
}

TEST_CASE("B2: an image whose recipe has changed is stale") {
  Images images;
  images.add_sandbox("stale");
  const std::string tag = images.ensure("stale");
  const json::value before = images.inspect(tag).at("Id");
  call_engine(
      {.method = "POST", .path = "/images/python:3.11-slim/tag?repo=hearth-test-base&tag=1"});
  images.tags.emplace_back("hearth-test-base:1");
  images.options.base_image = "hearth-test-base:1";
  CHECK(images.ensure("stale") == tag);
  CHECK(images.was_built());
  CHECK(images.inspect(tag).at("Id") != before);
}

TEST_CASE("B5: another version of Hearth has an image of its own, beside the old one") {
  Images images;
  images.add_sandbox("version");
  const std::string old = images.ensure("version");
  const std::filesystem::path harness = images.place.path() / "newer";
  std::filesystem::copy(images.options.programs.harness, harness,
                        std::filesystem::copy_options::recursive);
  images.place.write("newer/version_two.py", "");
  images.options.programs.harness = harness;
  const std::string newer = images.ensure("version");
  CHECK(images.was_built());
  CHECK(newer != old);
  CHECK(images.run(old, "version", "print(1)") == "1\n");
  CHECK(images.run(newer, "version", "print(2)") == "2\n");
}

TEST_CASE("B4: a changed tool or package is another image, B5: beside the old one") {
  Images before;
  before.add_sandbox("changed");
  before.add_tool("t", "changed", "def f(): return 1\n");
  const std::string one = before.ensure("changed");
  Images after;
  after.add_sandbox("changed");
  after.add_tool("t", "changed", "def f(): return 2\n");
  const std::string two = after.ensure("changed");
  CHECK(one != two);
  CHECK(before.run(one, "changed", "print(f())") == "1\n");
  CHECK(after.run(two, "changed", "print(f())") == "2\n");
  CHECK(after.ensure("changed") == two);
  CHECK_FALSE(after.was_built());
}

TEST_CASE("B6: what is built is small and hardened, B7: for the user sandbox, B12: around init") {
  Images images;
  images.add_sandbox("plain");
  const json::value found = images.inspect(images.ensure("plain"));
  const json::value& config = found.at("Config");
  CHECK(config.at("User") == json::value("sandbox"));
  CHECK(config.at("WorkingDir") == json::value("/workspace"));
  const std::string entrypoint = json::serialize(config.at("Entrypoint"));
  CHECK(entrypoint.find("/hearth/hearth-init") != std::string::npos);
  CHECK(entrypoint.find("/hearth/executor_harness") != std::string::npos);
  const std::int64_t base = images.inspect("python:3.11-slim").at("Size").to_number<std::int64_t>();
  CHECK(found.at("Size").to_number<std::int64_t>() - base < 8'000'000);
  CHECK(images.run(images.ensure("plain"), "plain", R"(
import os, pwd
print(pwd.getpwuid(os.getuid()).pw_name, os.getuid() == os.geteuid() > 10001)
)") == "sandbox True\n");
}

TEST_CASE("B8: B9: risky programs are gone, and packages work, B10: of blueprint and tools") {
  Images images;
  write_wheel(images.wheels(), "ours", "ANSWER = 42\n");
  write_wheel(images.wheels(), "theirs", "QUESTION = 6 * 9\n");
  images.add_sandbox("risky", {"ours"});
  images.add_tool("tool", "risky", "import theirs\ndef ask(): return theirs.QUESTION\n",
                  {"theirs"});
  const std::string tag = images.ensure("risky");
  CHECK(images.run(tag, "risky", R"(
import shutil, importlib.metadata, ours, errno
print([name for name in ("curl", "wget", "gcc", "cc", "make", "nc", "netcat", "ncat") if shutil.which(name)])
print(sorted(d.metadata["Name"] for d in importlib.metadata.distributions(path=["/hearth/packages"])))
print(ours.ANSWER, ask())
try: open("/hearth/packages/x", "w")
except OSError as error: print(errno.errorcode[error.errno])
)") == "[]\n['ours', 'theirs']\n42 54\nEROFS\n");
}

TEST_CASE("B9: programs that the base image has are removed from ours") {
  Images images;
  // wget, make and nc from nowhere: links that answer.
  builder::TarArchive tar;
  tar.add_file("Dockerfile",
               "FROM python:3.11-slim\nRUN for p in curl wget gcc make nc netcat; do ln -s "
               "/bin/true /usr/local/bin/$p; done\n");
  asio::io_context loop(1);
  docker::EngineClient client(engine_address());
  run_task(loop, client.stream({.method = "POST",
                                .path = "/build?t=hearth-test-risky:1&networkmode=none",
                                .limit = std::chrono::seconds(120)},
                               {"application/x-tar", tar.finish()}, [](std::string_view) {}));
  images.tags.emplace_back("hearth-test-risky:1");
  images.options.base_image = "hearth-test-risky:1";
  images.add_sandbox("cleaned");
  CHECK(images.run(images.ensure("cleaned"), "cleaned", R"(
import os, shutil
print([name for name in ("curl", "wget", "gcc", "make", "nc", "netcat") if shutil.which(name)])
print(os.path.exists("/bin/true") or "true went with them")
)") == "[]\nTrue\n");
}

TEST_CASE("B9: a package in C is compiled for an image that has no compiler") {
  Images images;
  images.options.pip.allow_source_builds = true;
  write_c_archive(images.wheels(), "fast", R"(
#include <Python.h>
static PyObject* answer(PyObject* self, PyObject* nothing) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast", "", -1, methods};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&module); }
)");
  images.add_sandbox("compiled", {"fast"});
  CHECK(images.run(images.ensure("compiled"), "compiled", R"(
import fast, shutil
print(fast.answer(), [name for name in ("gcc", "cc", "ld", "make") if shutil.which(name)])
)") == "42 []\n");
  CHECK(stages_left("compiled") == 0);
}

TEST_CASE("B11: a build's context is made in memory: no temporary file of it appears") {
  Images images;
  write_wheel(images.wheels(), "tiny", "ANSWER = 42\n");
  images.add_sandbox("context", {"tiny"});
  const TemporaryDirectory temporary;
  const char* const usual = std::getenv("TMPDIR");
  const std::string before = usual == nullptr ? "" : usual;
  const os::UniqueFd seen(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  REQUIRE(::inotify_add_watch(seen.get(), temporary.path().c_str(), IN_ALL_EVENTS) >= 0);
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  images.ensure("context");
  ::setenv("TMPDIR", before.c_str(), 1);
  if (usual == nullptr) ::unsetenv("TMPDIR");
  CHECK(images.was_built());
  std::array<char, 4096> events{};
  CHECK(::read(seen.get(), events.data(), events.size()) == -1);
  // The watch is alive.
  temporary.write("file", "");
  CHECK(::read(seen.get(), events.data(), events.size()) > 0);
}

TEST_CASE("B11: nothing of a build stays: no wheels, no credentials, no layers") {
  Images images;
  write_wheel(images.wheels(), "tiny", "ANSWER = 42\n");
  images.options.netrc = "machine pypi.org login me password hush-hush\n";
  images.add_sandbox("traces", {"tiny"});
  const std::string tag = images.ensure("traces");
  CHECK(stages_left("traces") == 0);
  const json::value history = call_engine({.path = "/images/" + tag + "/history"}).body;
  CHECK(json::serialize(history).find("hush") == std::string::npos);
  CHECK(images.run(tag, "traces", "import os; print(os.path.exists('/build'))") == "False\n");
}

TEST_CASE("B13: tool sources are under /tools") {
  Images images;
  images.add_sandbox("tools");
  images.add_tool("one", "tools", "def f(): pass\n");
  images.add_tool("two", "tools", "def g(): pass\n");
  CHECK(images.run(images.ensure("tools"), "tools",
                   "import os; print(sorted(n for n in os.listdir('/tools') if n[0] != '_'))") ==
        "['one.py', 'two.py']\n");
}

TEST_CASE("B14: what pip could not do is in the error, whole") {
  Images images;
  write_wheel(images.wheels(), "numbers_lib", "x = 1\n");
  SUBCASE("a misspelt name") {
    images.add_sandbox("misspelt", {"nubmers-lib"});
    const builder::BuildError error = images.failure("misspelt");
    CHECK(std::string(error.what()).find("nubmers-lib") != std::string::npos);
    CHECK(error.log.find("No matching distribution found for nubmers-lib") != std::string::npos);
    CHECK(std::find(images.progress.begin(), images.progress.end(), "") == images.progress.end());
  }
  SUBCASE("a native dependency that is not there") {
    run_python(R"(
import io, sys, tarfile
with tarfile.open(sys.argv[1] + "/needs_c-1.0.tar.gz", "w:gz") as tar:
    def add(name, text):
        info = tarfile.TarInfo("needs_c-1.0/" + name)
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text.encode()))
    add("PKG-INFO", "Metadata-Version: 2.1\nName: needs_c\nVersion: 1.0\n")
    add("pyproject.toml", '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')
    add("backend.py", 'import subprocess\ndef build_wheel(*a, **k):\n    subprocess.run(["gcc", "-lnothing", "x.c"], check=True)\n')
)",
               {images.wheels()});
    images.options.pip.allow_source_builds = true;
    images.add_sandbox("native-dep", {"needs-c"});
    const builder::BuildError error = images.failure("native-dep");
    CHECK_MESSAGE(error.log.find("gcc") != std::string::npos, error.log);
  }
  CHECK(stages_left("misspelt") + stages_left("native-dep") == 0);
}

TEST_CASE("a package without a wheel gets no image unless source builds are allowed") {
  Images images;
  write_source_archive(images.wheels(), "evil", "");
  images.add_sandbox("unallowed", {"evil"});
  const std::string what = images.failure("unallowed").what();
  INFO(what);
  CHECK(what.find("No matching distribution found for evil (only wheels") != std::string::npos);
  CHECK(what.find("allow_source_builds = true in [builder]") != std::string::npos);

  images.add_sandbox("direct", {"evil @ file:///build/wheels/0/evil-1.0.tar.gz"});
  CHECK(std::string(images.failure("direct").what()).find("\"evil\" is a direct reference") !=
        std::string::npos);
}

TEST_CASE("code that runs to install a package into an image is no root's, and leaves no such") {
  Images images;
  images.options.pip.allow_source_builds = true;
  write_source_archive(images.wheels(), "evil", R"(
import os
facts["user"] = os.getuid()
open("/packages/program", "w").write("#!/bin/sh\n")
os.chmod("/packages/program", 0o6777)
try:
    open("/etc/passwd", "a")
    facts["root"] = True
except PermissionError:
    facts["root"] = False
)");
  images.add_sandbox("allowed", {"evil"});
  CHECK(images.run(images.ensure("allowed"), "allowed", R"(
import json, os
facts = json.load(open("/hearth/packages/evil.py"))
print(facts["user"] != 0, facts["root"])
found = os.stat("/hearth/packages/program")
print(oct(found.st_mode), found.st_uid)
)") == "True False\n0o100755 0\n");
}

TEST_CASE("B14: a base image that does not exist is a build error") {
  Images images;
  images.options.base_image = "hearth.invalid/no/such-image:1";
  images.add_sandbox("baseless");
  CHECK(std::string(images.failure("baseless").what()).find("no/such-image") != std::string::npos);
}

TEST_CASE("C24: a version of Python that has no image is a build error, not a hang") {
  Images images;
  images.options.base_image = "hearth.invalid/python:{version}-slim";
  blueprint::SandboxConfig config = docker_config("futuristic");
  config.python_version = "9.9";
  images.registry.register_blueprint(config);
  CHECK(std::string(images.failure("futuristic").what()).find("python:9.9-slim") !=
        std::string::npos);
}

TEST_CASE("B2: whether the caller has credentials makes no other image") {
  Images images;
  write_wheel(images.wheels(), "tiny", "ANSWER = 42\n");
  images.add_sandbox("agreed", {"tiny"});
  images.options.netrc = "machine pypi.org login me password hush-hush\n";
  const std::string tag = images.ensure("agreed");
  images.options.netrc.clear();
  CHECK(images.ensure("agreed") == tag);
  CHECK_FALSE(images.was_built());
}

TEST_CASE("B8: a base image with a volume is refused") {
  Images images;
  builder::TarArchive tar;
  tar.add_file("Dockerfile", "FROM python:3.11-slim\nVOLUME /vol\n");
  docker::EngineClient client(engine_address());
  run_task(images.loop,
           client.stream({.method = "POST", .path = "/build?t=hearth-test-volume:1"},
                         {"application/x-tar", tar.finish()}, [](std::string_view) {}));
  images.tags.emplace_back("hearth-test-volume:1");
  images.options.base_image = "hearth-test-volume:1";
  images.add_sandbox("leaky");
  CHECK(std::string(images.failure("leaky").what()).find("the volume /vol") != std::string::npos);
  images.tags.push_back(images.tag_of("leaky"));
}

TEST_CASE("B15: a name that is not registered is refused") {
  Images images;
  CHECK_THROWS_AS(images.ensure("x"), registry::UnknownBlueprint);
}

TEST_CASE("B25: ten requests at once get one build") {
  Images images;
  images.add_sandbox("crowd");
  const std::time_t since = std::time(nullptr);
  const auto builder = images.open_builder();
  int done = 0;
  for (int i = 0; i < 10; ++i)
    asio::co_spawn(images.loop, builder->ensure_sandbox("crowd", {}),
                   [&](const std::exception_ptr& failure, const std::string& tag) {
                     CHECK_FALSE(failure);
                     images.tags.push_back(tag);
                     ++done;
                   });
  images.loop.restart();
  while (done < 10) images.loop.run_one();
  CHECK(times_tagged(images.tag_of("crowd"), since) == 1);
}

TEST_CASE("B26: an interrupted build leaves nothing that looks like an image, and no credentials") {
  Images images;
  images.options.netrc = "machine pypi.org login me password hush-hush\n";
  write_wheel(images.wheels(), "quick", "x = 1\n");
  images.add_sandbox("halted", {"quick"});
  {
    const auto builder = images.open_builder();
    asio::cancellation_signal give_up;
    bool ended = false;
    bool has_failed = false;
    asio::co_spawn(images.loop,
                   builder->ensure_sandbox("halted",
                                           [&](const std::string& line) {
                                             if (line.find("pip") != std::string::npos)
                                               give_up.emit(asio::cancellation_type::terminal);
                                           }),
                   asio::bind_cancellation_slot(
                       give_up.slot(), [&](const std::exception_ptr& failure, const std::string&) {
                         has_failed = static_cast<bool>(failure);
                         ended = true;
                       }));
    images.loop.restart();
    while (!ended) images.loop.run_one();
    CHECK(has_failed);
  }
  const std::string tag = images.tag_of("halted");
  CHECK(call_engine({.path = "/images/" + tag + "/json", .accepted = {404}}).status == 404);
  CHECK(stages_left("halted") == 0);
  CHECK(images.ensure("halted") == tag);
  CHECK(images.run(tag, "halted", "import quick; print(quick.x)") == "1\n");
}

TEST_CASE("old versions stay while they are used, and are pruned when unused") {
  use_engine_alone();
  Images old;
  old.add_sandbox("versions");
  old.add_tool("v", "versions", "def v(): return 1\n");
  const std::string one = old.ensure("versions");
  Images current;
  current.add_sandbox("versions");
  current.add_tool("v", "versions", "def v(): return 2\n");
  const std::string two = current.ensure("versions");
  const auto builder = current.open_builder();
  const auto find = [&](const std::string& tag) {
    const auto all = run_task(current.loop, builder->list());
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const builder::Built& image) { return image.name == tag; });
    return found == all.end() ? builder::Built{} : *found;
  };
  {
    auto host =
        run_task(old.loop, docker::DockerEngine::open(docker_host_options(old.place.path())));
    OpenSource open(old.loop, host, one, old.registry.blueprint("versions"));
    const auto user = run_task(old.loop, open.source.spawn());
    CHECK(find(one).is_in_use);
    CHECK_FALSE(find(one).is_wanted);
    run_task(current.loop, builder->prune({}));
    CHECK(find(one).name == one);
    user->kill();
  }
  const auto removed = run_task(current.loop, builder->prune({}));
  CHECK(std::find(removed.begin(), removed.end(), one) != removed.end());
  CHECK(find(one).name.empty());
  CHECK(find(two).is_wanted);
  CHECK(find(two).blueprints == std::vector<std::string>{"versions"});
  CHECK(find(two).size_bytes > 1'000'000);
}
