#include "registry/tool_registry.h"

#include "os/trusted_path.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace hearth;
using namespace hearth::registry;
using blueprint::ConfigError;

namespace {

ToolRegistry with_blueprints(std::vector<std::string> names) {
  ToolRegistry registry;
  for (std::string& name : names) registry.register_blueprint({.name = std::move(name)});
  return registry;
}

Tool text_tool(std::string name, std::string source, std::vector<std::string> blueprints = {"a"}) {
  return {.config = {.name = std::move(name), .blueprints = std::move(blueprints)},
          .source = std::move(source)};
}

std::vector<ToolProblem> problems_of_registering(ToolRegistry& registry, std::vector<Tool> tools) {
  try {
    registry.register_tools(std::move(tools));
    return {};
  } catch (const ToolError& error) {
    return error.problems;
  }
}

}  // namespace

TEST_CASE("C21: a sandbox that is not registered is an error that names what exists") {
  const ToolRegistry registry = with_blueprints({"default", "analytics"});
  CHECK(registry.blueprint("default").name == "default");
  CHECK_THROWS_AS(registry.blueprint("x"), UnknownBlueprint);
  CHECK_THROWS_AS(registry.blueprint_checksum("x"), UnknownBlueprint);
  CHECK_THROWS_AS(registry.tools_of("x"), UnknownBlueprint);
  CHECK_THROWS_AS(registry.packages_of("x"), UnknownBlueprint);
  try {
    registry.blueprint("analytic");
    FAIL("found");
  } catch (const UnknownBlueprint& error) {
    CHECK(error.name == "analytic");
    CHECK(error.known == std::vector<std::string>{"analytics", "default"});
    CHECK(std::string(error.what()) ==
          "there is no blueprint \"analytic\"; there are analytics, default; did you mean "
          "\"analytics\"?");
  }
  CHECK_THROWS_WITH_AS(ToolRegistry().blueprint("x"), "there is no blueprint \"x\"; there is none",
                       UnknownBlueprint);
}

TEST_CASE("a sandbox is registered once, and only when it is valid") {
  ToolRegistry registry = with_blueprints({"a"});
  CHECK_THROWS_AS(registry.register_blueprint({.name = "a"}), ConfigError);
  CHECK_THROWS_AS(registry.register_blueprint({.name = "B"}), ConfigError);
  CHECK(registry.blueprint_names() == std::vector<std::string>{"a"});
}

TEST_CASE("a tool comes from a file or from text, with what is said about it") {
  const test::TemporaryDirectory folder;
  const auto path = folder.path() / "tool.py";
  std::ofstream(path) << "def greet():\n    return 'hello'\n";
  ToolRegistry registry = with_blueprints({"a", "b"});
  registry.register_tool(
      tool_from_file({.name = "greet", .blueprints = {"a"}, .packages = {"httpx"}}, path));
  registry.register_tool(text_tool("add", "def add(a, b): return a + b\n", {"b", "a"}));

  const std::vector<const Tool*> tools = registry.tools_of("a");
  REQUIRE(tools.size() == 2);
  CHECK(tools[0]->config.name == "add");
  CHECK(tools[1]->config.name == "greet");
  CHECK(tools[1]->file == path.string());
  CHECK(tools[1]->source.find("hello") != std::string::npos);
  CHECK(registry.tools_of("b").size() == 1);
  CHECK(registry.packages_of("a") == std::vector<std::string>{"httpx"});
  CHECK(registry.packages_of("b").empty());
  CHECK_THROWS_AS(tool_from_file({.name = "x"}, "/no/such/tool.py"), OsError);
  std::filesystem::permissions(path, std::filesystem::perms::all);
  CHECK_THROWS_AS(tool_from_file({.name = "x"}, path), os::UntrustedPath);
}

TEST_CASE("the secrets of a blueprint and of its tools are named once, in order") {
  ToolRegistry registry;
  registry.register_blueprint({.name = "a", .secrets = {"KEY", "A_KEY"}});
  registry.register_blueprint({.name = "b"});
  Tool tool = text_tool("add", "def add(a, b): return a + b\n");
  tool.config.secrets = {"TOOL_KEY", "KEY"};
  registry.register_tool(tool);
  CHECK(registry.secret_names_of("a") == std::vector<std::string>{"A_KEY", "KEY", "TOOL_KEY"});
  CHECK(registry.secret_names_of("b").empty());
  CHECK_THROWS_AS(registry.secret_names_of("x"), UnknownBlueprint);
}

TEST_CASE("H6: a tool that does not compile is refused with file and line") {
  const test::TemporaryDirectory folder;
  const auto path = folder.path() / "broken.py";
  std::ofstream(path) << "x = 1\ndef broken(:\n    pass\n";
  ToolRegistry registry = with_blueprints({"a"});
  const auto problems = problems_of_registering(
      registry,
      {text_tool("good", "y = 1\n"), tool_from_file({.name = "broken", .blueprints = {"a"}}, path),
       text_tool("unfinished", "def f():\n\n\n  return (1 +\n"),
       text_tool("nul", std::string("x = '\0'\n", 8))});

  REQUIRE(problems.size() == 3);
  CHECK(problems[0].file == path.string());
  CHECK(problems[0].line == 2);
  CHECK(problems[0].index == 1);
  CHECK(to_string(problems[0]).find(path.string() + ":2:12: invalid syntax") == 0);
  CHECK(problems[1].file == "<tool unfinished>");
  CHECK(problems[1].line == 4);
  CHECK(problems[2].tool == "nul");
  CHECK(registry.tools_of("a").empty());  // not even the good one: a batch is all or nothing
}

TEST_CASE("a tool is checked for the oldest Python of its sandboxes") {
  ToolRegistry registry;
  registry.register_blueprint({.name = "old", .python_version = "3.8"});
  registry.register_blueprint({.name = "new", .python_version = "3.10.2"});
  registry.register_blueprint({.name = "future", .python_version = "9.9"});
  const std::string match = "match 1:\n    case 1: pass\n";
  CHECK(problems_of_registering(registry, {text_tool("one", match, {"new", "old"})}).size() == 1);
  CHECK(problems_of_registering(registry, {text_tool("two", match, {"new"})}).empty());
  // This machine's Python cannot know what that one will understand.
  CHECK(problems_of_registering(registry, {text_tool("three", "a b c", {"future"})}).empty());
  CHECK(problems_of_registering(registry, {text_tool("four", "a b c", {"future", "new"})}).size() ==
        1);
}

TEST_CASE("a source may have any encoding that Python accepts") {
  ToolRegistry registry = with_blueprints({"a"});
  CHECK(problems_of_registering(registry, {text_tool("latin", "# coding: latin-1\nx = '\xe4'\n"),
                                           text_tool("utf8", "x = 'ä'\n"), text_tool("empty", "")})
            .empty());
  CHECK(problems_of_registering(registry, {text_tool("wrong", "x = '\xe4'\n")}).size() == 1);
}

TEST_CASE("tools with taken names, unknown blueprints or bad metadata are refused together") {
  ToolRegistry registry = with_blueprints({"default", "analytics"});
  registry.register_tool(text_tool("taken", "x = 1\n", {"default"}));
  std::string texts;
  for (const ToolProblem& problem :
       problems_of_registering(registry, {text_tool("taken", "x = 1\n", {"default"}),
                                          text_tool("fresh", "x = 1\n", {"default", "defualt"}),
                                          text_tool("fresh", "x = 1\n", {"default"}),
                                          text_tool("not-a-name", "x = 1\n", {"default"})})) {
    texts += to_string(problem) + '\n';
  }
  CHECK(texts ==
        "tool \"taken\": name is registered already: \"taken\"\n"
        "tool \"fresh\": blueprints[1] names the unknown blueprint \"defualt\"; there are "
        "analytics, default; did you mean \"default\"?\n"
        "tool \"fresh\": name is registered already: \"fresh\"\n"
        "tool \"not-a-name\": name must be a Python identifier of at most 63 ASCII letters, is "
        "\"not-a-name\"\n");
}

TEST_CASE("a source of more than a mebibyte is refused") {
  ToolRegistry registry = with_blueprints({"a"});
  const auto problems = problems_of_registering(
      registry, {text_tool("fits", '#' + std::string(most_source_bytes - 1, 'x')),
                 text_tool("large", '#' + std::string(most_source_bytes, 'x'))});
  REQUIRE(problems.size() == 1);
  CHECK(to_string(problems[0]) ==
        "tool \"large\": source is larger than the 1048576 bytes a tool may have");
}

TEST_CASE("the number of tools and the sum of their sources are bounded") {
  ToolRegistry registry = with_blueprints({"a"});
  std::vector<Tool> large;
  for (std::size_t index = 0; index < most_sources_bytes / most_source_bytes; ++index)
    large.push_back(
        text_tool("large_" + std::to_string(index), '#' + std::string(most_source_bytes - 1, 'x')));
  large.push_back(text_tool("more", "#"));
  auto problems = problems_of_registering(registry, large);
  REQUIRE(problems.size() == 1);
  CHECK(to_string(problems[0]) ==
        "tool \"more\": source is beyond the 16777216 bytes that all tools together may have");
  large.pop_back();
  CHECK(problems_of_registering(registry, std::move(large)).empty());
  CHECK(problems_of_registering(registry, {text_tool("later", "#")}).size() == 1);

  std::vector<Tool> many;
  for (std::size_t index = 0; index <= most_tools; ++index)
    many.push_back(text_tool("tool_" + std::to_string(index), ""));
  ToolRegistry other = with_blueprints({"a"});
  problems = problems_of_registering(other, std::move(many));
  REQUIRE(problems.size() == 1);
  CHECK(to_string(problems[0]) ==
        "tool \"tool_4096\": name is one tool more than the 4096 that there may be");
}

TEST_CASE("as root, tools are compiled without its rights, variables and unlimited memory" *
          doctest::skip(::geteuid() != 0)) {
  const test::TemporaryDirectory folder;
  // Stands in for Python: notes how the real one ends up.
  const std::filesystem::path python = folder.path() / "python3";
  folder.write("python3", "#!/bin/sh\nenv >" + (folder.path() / "env").string() + R"sh(
code="$5
print(os.getresuid(), os.getresgid(), os.getgroups(), file=sys.stderr)
print([resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU)],
      file=sys.stderr)
sys.exit(3)"
shift 5
exec /usr/bin/python3 -I -S -B -c "$code" "$@"
)sh");
  std::filesystem::permissions(python, std::filesystem::perms(0755));
  ::setenv("PYTHONMALLOC", "debug", 1);
  ToolRegistry registry({.python = python.string()});
  registry.register_blueprint({.name = "a"});
  std::string seen;
  try {
    registry.register_tool(text_tool("fine", "x = 1\n"));
  } catch (const Error& error) {
    seen = error.what();
  }
  ::unsetenv("PYTHONMALLOC");
  INFO(seen);
  CHECK(seen.find("exit code 3") != std::string::npos);
  CHECK(seen.find("(65534, 65534, 65534) (65534, 65534, 65534) []\n[1073741824, 30]\n") !=
        std::string::npos);
  std::ifstream env(folder.path() / "env");
  const std::string variables((std::istreambuf_iterator<char>(env)), {});
  CHECK(variables.find("PATH=") != std::string::npos);
  CHECK(variables.find("PYTHONMALLOC") == std::string::npos);
}

TEST_CASE("without Python on the machine tools are registered unchecked") {
  for (const char* python : {"hearth-no-such-python", "/etc/passwd"}) {
    ToolRegistry registry({.python = python});
    registry.register_blueprint({.name = "a"});
    CHECK_NOTHROW(registry.register_tool(text_tool("broken", "def (\n")));
    CHECK(registry.tools_of("a").size() == 1);
  }
}

TEST_CASE("a Python that fails is an error, not a tool that passes") {
  ToolRegistry registry({.python = "false"});
  registry.register_blueprint({.name = "a"});
  CHECK_THROWS_AS(registry.register_tool(text_tool("fine", "x = 1\n")), Error);
}

TEST_CASE("a thousand tools cost one start of Python") {
  ToolRegistry registry = with_blueprints({"a"});
  std::vector<Tool> tools;
  tools.reserve(1000);
  for (int index = 0; index < 1000; ++index)
    tools.push_back(text_tool("tool_" + std::to_string(index), "def f():\n    return 1\n"));
  const auto before = std::chrono::steady_clock::now();
  registry.register_tools(std::move(tools));
  // A thousand starts would take more than ten seconds on any machine.
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(8));
  CHECK(registry.tools_of("a").size() == 1000);
}
