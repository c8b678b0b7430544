#include "builder/image_plan.h"

#include "os/run_program.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <string>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  Fixture() {
    plan.blueprint = "box";
    plan.checksum = "abc";
    plan.python_version = "3.11";
    options.programs.init = place.path() / "init";
    options.programs.harness = place.path() / "harness";
    fs::create_directories(options.programs.harness / "__pycache__");
    place.write("init", "init");
    place.write("harness/__main__.py", "start()");
    place.write("harness/worker.py", "work()");
    place.write("harness/__pycache__/worker.cpython-311.pyc", "compiled");
  }

  std::string recipe() const { return plan_image(plan, options).recipe; }
  std::string tag() const { return plan_image(plan, options).tag; }

  // What `tar` says about the context, given these arguments after the archive.
  std::string tar(std::vector<std::string> arguments) const {
    place.write("context.tar", image_context(plan, options, plan_image(plan, options)));
    arguments.insert(arguments.begin() + 1, place.path() / "context.tar");
    const os::ProgramResult result =
        os::run_program({.program = "tar", .arguments = std::move(arguments)});
    REQUIRE_MESSAGE(result.succeeded(), result.errors);
    return result.output;
  }

  test::TemporaryDirectory place;
  BuildPlan plan;
  ImageOptions options;
};

}  // namespace

TEST_CASE(
    "B12: an image gets init and every module of the harness, but no bytecode of this machine") {
  const Fixture f;
  CHECK(f.tar({"-tf"}) ==
        "Dockerfile\nhearth/executor_harness/\nhearth/hearth-init\n"
        "hearth/executor_harness/__main__.py\nhearth/executor_harness/worker.py\ntools/\n");
  CHECK(f.tar({"-xOf", "hearth/executor_harness/worker.py"}) == "work()");
}

TEST_CASE("B11: a context holds what the image is built from, in one archive") {
  Fixture f;
  fs::create_directories(f.place.path() / "wheels");
  f.place.write("wheels/greet-1.0-py3-none-any.whl", "a wheel");
  f.place.write("wheels/notes.txt", "not for pip");
  f.options.pip.find_links = {f.place.path() / "wheels"};
  f.options.netrc = "machine pypi.org login me password hush-hush\n";
  f.plan.packages = {"greet", "httpx>=1"};
  f.plan.tools = {{"say", "def say(): pass\n"}};
  CHECK(f.tar({"-tf"}) ==
        "Dockerfile\nhearth/executor_harness/\nhearth/hearth-init\n"
        "hearth/executor_harness/__main__.py\nhearth/executor_harness/worker.py\ntools/\n"
        "tools/say.py\nbuild/requirements.txt\nbuild/netrc\nbuild/wheels/0/\n"
        "build/wheels/0/greet-1.0-py3-none-any.whl\n");
  CHECK(f.tar({"-xOf", "tools/say.py"}) == "def say(): pass\n");
  CHECK(f.tar({"-xOf", "build/requirements.txt"}) == "greet\nhttpx>=1\n");
  CHECK(f.tar({"-xOf", "build/wheels/0/greet-1.0-py3-none-any.whl"}) == "a wheel");
  CHECK(f.tar({"-xOf", "Dockerfile"}).find("hush") == std::string::npos);
  CHECK(f.tar({"-tvf", "build/netrc"}).starts_with("-rw-------"));
}

TEST_CASE("the harness is compiled by the Python of the image") {
  const Fixture f;
  const std::string text = plan_image(f.plan, f.options).dockerfile;
  const std::size_t copied = text.find("COPY hearth /hearth\n");
  const std::size_t compiled = text.find("python3 -I -m compileall");
  CHECK(copied != std::string::npos);
  CHECK(compiled != std::string::npos);
  CHECK(copied < compiled);
  CHECK(text.find(" /hearth/executor_harness || true;", compiled) != std::string::npos);
}

TEST_CASE("B2: a changed, renamed or new module of the harness changes the recipe") {
  const Fixture f;
  const std::string before = f.recipe();
  f.place.write("harness/__pycache__/worker.cpython-312.pyc", "compiled");
  CHECK(f.recipe() == before);

  f.place.write("harness/worker.py", "work(2)");
  const std::string changed = f.recipe();
  CHECK(changed != before);

  fs::rename(f.options.programs.harness / "worker.py", f.options.programs.harness / "labour.py");
  const std::string renamed = f.recipe();
  CHECK(renamed != changed);

  f.place.write("harness/empty.py", "");
  CHECK(f.recipe() != renamed);
}

TEST_CASE("C18: the Python version selects the base image") {
  Fixture f;
  CHECK(plan_image(f.plan, f.options).dockerfile.starts_with("FROM python:3.11-slim\n"));
  f.plan.python_version = "3.12.4";
  f.plan.packages = {"httpx"};
  const std::string dockerfile = plan_image(f.plan, f.options).dockerfile;
  CHECK(dockerfile.starts_with("FROM python:3.12.4-slim AS packages\n"));
  CHECK(dockerfile.find("\nFROM python:3.12.4-slim\n") != std::string::npos);
}

TEST_CASE("B9: packages are compiled in a stage of another image, if they may be") {
  Fixture f;
  f.plan.packages = {"httpx"};
  const auto begins = [&](const std::string& text) {
    return plan_image(f.plan, f.options).dockerfile.starts_with(text);
  };
  CHECK(begins("FROM python:3.11-slim AS packages\n"));
  f.options.pip.allow_source_builds = true;
  CHECK(begins("FROM python:3.11 AS packages\n"));
  f.options.build_image = "mine/compilers:{version}";
  CHECK(begins("FROM mine/compilers:3.11 AS packages\n"));
  CHECK(plan_image(f.plan, f.options).dockerfile.find("\nFROM python:3.11-slim\n") !=
        std::string::npos);
}

TEST_CASE("H25: B4: an image that tools are mounted into depends on their packages, not on them") {
  Fixture f;
  const auto tag_with = [&](const std::string& source, std::vector<std::string> packages) {
    registry::ToolRegistry registry;
    registry.register_blueprint({.name = "box"});
    registry::Tool tool;
    tool.config = {.name = "t", .blueprints = {"box"}, .packages = std::move(packages)};
    tool.source = source;
    registry.register_tool(tool);
    const BuildPlan plan = image_build_plan(registry, "box", f.options);
    CHECK(plan.tools.empty() != f.options.has_tools);
    return image_tag(plan, f.options);
  };
  const std::string baked = tag_with("x = 1\n", {});
  CHECK(tag_with("x = 2\n", {}) != baked);
  f.options.has_tools = false;
  const std::string mounted = tag_with("x = 1\n", {});
  CHECK(mounted != baked);
  CHECK(tag_with("x = 2\n", {}) == mounted);
  CHECK(tag_with("x = 1\n", {"httpx"}) != mounted);
}

TEST_CASE("B3: a tag is made of the prefix, the blueprint's name and a checksum") {
  Fixture f;
  CHECK(std::regex_match(f.tag(), std::regex("hearth-sandbox-box:[0-9a-f]{64}")));
  const std::string checksum = f.tag().substr(f.tag().find(':'));
  f.options.prefix = "mine/of-";
  CHECK(f.tag() == "mine/of-box" + checksum);
}

TEST_CASE("B5: another init or harness has an image of its own, and so has another environment") {
  Fixture f;
  const std::string tag = f.tag();
  CHECK(f.tag() == tag);
  SUBCASE("init") { f.place.write("init", "init 2"); }
  SUBCASE("harness") { f.place.write("harness/worker.py", "work(2)"); }
  SUBCASE("a new module") { f.place.write("harness/empty.py", ""); }
  SUBCASE("environment") { f.plan.checksum = "abd"; }
  CHECK(f.tag() != tag);
}

TEST_CASE("B5: packages from elsewhere have an image of their own, if there are packages") {
  Fixture f;
  fs::create_directories(f.place.path() / "wheels");
  f.place.write("wheels/greet-1.0-py3-none-any.whl", "good");
  f.options.pip.find_links = {f.place.path() / "wheels"};
  const std::string without_packages = f.tag();
  f.plan.packages = {"greet"};
  const std::string tag = f.tag();
  SUBCASE("another wheel of that name") {
    f.place.write("wheels/greet-1.0-py3-none-any.whl", "not so good");
  }
  SUBCASE("another directory") {
    fs::create_directories(f.place.path() / "other");
    f.options.pip.find_links = {f.place.path() / "other"};
  }
  SUBCASE("another index") { f.options.pip.index_url = "https://example.org/simple"; }
  SUBCASE("no index") { f.options.pip.no_index = true; }
  CHECK(f.tag() != tag);
  f.plan.packages.clear();
  CHECK(f.tag() == without_packages);
}

TEST_CASE("the place of the programs is no part of an image's identity") {
  const Fixture one;
  const Fixture other;
  REQUIRE(one.place.path() != other.place.path());
  CHECK(one.tag() == other.tag());
}

}  // namespace hearth::builder
