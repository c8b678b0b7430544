#include "blueprint/sandbox_config.h"

#include "blueprint/tool_config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <type_traits>

using namespace hearth::blueprint;

namespace {

SandboxConfig full_example() {
  return {
      .name = "secure_analytics",
      .python_version = "3.11",
      .dependencies = {"pandas", "scipy", "httpx"},
      .preload = {"pandas", "os.path"},
      .resources = {{.host_path = "/app/data/docs",
                     .container_path = "/data/docs",
                     .read_only = true,
                     .docker_host_path = "/srv/prod/agent_docs"}},
      .network_policy = {.allowed_hosts = {"api.stripe.com", "1.2.3.4"},
                         .allowed_ports = {{"api.stripe.com", {443}}, {"1.2.3.4", {8080}}},
                         .default_port = 443},
      .resource_limits = {.cpu_quota = 0.5,
                          .memory_mb = 512,
                          .memory_swap_mb = 1024,
                          .pids_limit = 32,
                          .execution_timeout_sec = 60,
                          .max_output_bytes = 1'048'576},
      .secrets = {"STRIPE_KEY", "DB_PASSWORD"},
      .execution_mode = ExecutionMode::interactive,
      .language = "bash",
      .sys_exit = SysExit::error,
      .output = OutputMode::truncate,
      .pool_size = 5,
      .scratch_size_mb = 128,
  };
}

std::string complaint_about(const SandboxConfig& config) {
  std::string all;
  for (const Problem& problem : problems_of(config)) all += to_string(problem) + '\n';
  return all;
}

}  // namespace

TEST_CASE("C1: a blueprint is plain data that is valid without any daemon") {
  static_assert(std::is_aggregate_v<SandboxConfig>);
  static_assert(std::is_aggregate_v<ResourceLimits>);
  static_assert(std::is_aggregate_v<NetworkPolicy>);
  static_assert(std::is_aggregate_v<FileResource>);
  CHECK(problems_of(SandboxConfig{.name = "default"}).empty());
}

TEST_CASE("C17: a blueprint has every promised field, and the full example is valid") {
  CHECK(complaint_about(full_example()).empty());
  CHECK(validated(full_example()) == full_example());
}

TEST_CASE("C17: a blueprint is PLAN and isolated unless said otherwise") {
  const SandboxConfig config;
  CHECK(config.execution_mode == ExecutionMode::plan);
  CHECK(config.language == "python");
  CHECK(config.sys_exit == SysExit::python);
  CHECK(config.output == OutputMode::fail);
  CHECK(is_isolated(config));
  CHECK(config.pool_size == 2);
  CHECK(config.scratch_size_mb == 64);
}

TEST_CASE("C17: the language of a blueprint is one that Hearth knows") {
  CHECK(complaint_about({.name = "a", .language = "javascript"}).empty());
  CHECK(complaint_about({.name = "a", .language = "perl"}) ==
        "language must be one of python, bash, javascript, is \"perl\"\n");
  CHECK_FALSE(complaint_about({.name = "a", .language = ""}).empty());
}

TEST_CASE("C20: added tool dependencies leave the original unchanged") {
  const SandboxConfig original{.name = "a", .dependencies = {"pandas>=1"}};
  const SandboxConfig extended =
      with_tool_dependencies(original, {"httpx", "Pandas >= 1", "HTTPX", "pandas"});
  CHECK(original.dependencies == std::vector<std::string>{"pandas>=1"});
  CHECK(extended.dependencies == std::vector<std::string>{"pandas>=1", "httpx", "pandas"});
  CHECK(extended.name == "a");
}

TEST_CASE("C22: a blueprint is made of standard types only") {
  // The layers (scripts/check-layers) hold the module to base and a JSON library; here the types.
  static_assert(std::is_same_v<decltype(Mount::source), std::string>);
  static_assert(std::is_same_v<decltype(SandboxConfig::dependencies), std::vector<std::string>>);
  static_assert(std::is_copy_constructible_v<SandboxConfig>);
  CHECK(full_example() == SandboxConfig(full_example()));
}

TEST_CASE("names outside [a-z0-9][a-z0-9_.-]{0,62} are refused with the value") {
  for (const std::string& name : {std::string("Default"), std::string("-a"), std::string("_a"),
                                  std::string(".a"), std::string("a b"), std::string("a/b"),
                                  std::string("ä"), std::string(64, 'a'), std::string("a\0b", 3)}) {
    INFO(name);
    CHECK(complaint_about({.name = name}).find("name must match [a-z0-9][a-z0-9_.-]{0,62}, is ") ==
          0);
  }
  CHECK(complaint_about({}).find("name is missing") == 0);
  CHECK(complaint_about({.name = std::string(63, 'a')}).empty());
  CHECK(complaint_about({.name = "0a_b.c-d"}).empty());
}

TEST_CASE("Python versions the harness cannot run on are refused") {
  for (const char* version : {"3", "3.", "3.x", "3.11.", "3.11.4.5", "v3.11", "", " 3.11", "3.1111",
                              "3.08", "3.11-slim", "latest"}) {
    INFO(version);
    CHECK(complaint_about({.name = "a", .python_version = version})
              .find("python_version must look like 3.11 or 3.11.4, is ") == 0);
  }
  for (const char* version : {"3.7", "2.7", "0.0"}) {
    INFO(version);
    CHECK(complaint_about({.name = "a", .python_version = version})
              .find("python_version must be at least 3.8, is ") == 0);
  }
  // C24: a version that does not exist is for the builder to report.
  for (const char* version : {"3.8", "3.13", "3.11.4", "9.9"}) {
    CHECK(complaint_about({.name = "a", .python_version = version}).empty());
  }
}

TEST_CASE("duplicate mounts are refused, whatever their spelling") {
  const SandboxConfig config{.name = "a",
                             .resources = {{.host_path = "/x", .container_path = "/data"},
                                           {.host_path = "/y", .container_path = "/other"},
                                           {.host_path = "/z", .container_path = "//data/"}}};
  CHECK(complaint_about(config) ==
        "resources[2].container_path is \"/data\", which resources[0] mounts already\n");
}

TEST_CASE("unparsable package requirements are refused with their place and value") {
  CHECK(complaint_about({.name = "a", .dependencies = {"pandas", "scipy>>1"}})
            .find("dependencies[1] is \"scipy>>1\", which ") == 0);
}

TEST_CASE("C26: secrets are names, and only names that a secret may have") {
  for (const char* name : {"", "1A", "A-B", "A=B", "hunter2!", "A B"}) {
    INFO(name);
    CHECK(complaint_about({.name = "a", .secrets = {name}}).find("no name of an environment") !=
          std::string::npos);
  }
  for (const char* name : {"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP",
                           "HEARTH_TOKEN", "HTTP_PROXY", "https_proxy", "HOME"}) {
    INFO(name);
    CHECK(complaint_about({.name = "a", .secrets = {name}}).find("the runtime sets itself") !=
          std::string::npos);
  }
  CHECK(complaint_about({.name = "a", .secrets = {"KEY", "OTHER", "KEY"}}) ==
        "secrets[2] repeats \"KEY\"\n");
  CHECK(complaint_about({.name = "a", .secrets = {"stripe_key", "_X9"}}).empty());
}

TEST_CASE("sizes and modules that can never work are refused") {
  CHECK(complaint_about({.name = "a", .pool_size = -1}) == "pool_size must be at least 0, is -1\n");
  CHECK(complaint_about({.name = "a", .pool_size = 10'001}) ==
        "pool_size must be at most 10000, is 10001\n");
  CHECK(complaint_about({.name = "a", .pool_size = 0}).empty());
  CHECK(complaint_about({.name = "a", .scratch_size_mb = 0}) ==
        "scratch_size_mb must be at least 1, is 0\n");
  for (const char* module : {"", "a.", ".a", "a b", "a;b", "1a", "a-b", "import", "os.import"}) {
    INFO(module);
    CHECK(complaint_about({.name = "a", .preload = {module}}).find("preload[0] must be a module") ==
          0);
  }
  CHECK(complaint_about({.name = "a", .preload = {"numpy", "numpy"}}) ==
        "preload[1] repeats \"numpy\"\n");
}

TEST_CASE("C9: all problems of one blueprint are reported together, each with its field") {
  SandboxConfig config = full_example();
  config.name = "Bad Name";
  config.resource_limits.memory_mb = 0;
  config.resource_limits.memory_swap_mb = -1;
  config.network_policy.default_port = 0;
  config.resources[0].container_path = "/proc";
  config.secrets = {"PATH"};
  try {
    validated(config);
    FAIL("accepted");
  } catch (const ConfigError& error) {
    std::vector<std::string> fields;
    for (const Problem& problem : error.problems) fields.push_back(problem.field);
    CHECK(fields == std::vector<std::string>{"name", "resources[0].container_path",
                                             "network_policy.default_port",
                                             "resource_limits.memory_mb", "secrets[0]"});
  }
}

TEST_CASE("tools need a Python name, a sandbox and requirements that parse") {
  const auto fields = [](const ToolConfig& tool) {
    std::vector<std::string> names;
    for (const Problem& problem : problems_of(tool)) names.push_back(problem.field);
    return names;
  };
  CHECK(fields({.name = "web_search", .blueprints = {"default"}, .packages = {"httpx"}}).empty());
  CHECK(fields({.name = "import", .blueprints = {"default"}}) == std::vector<std::string>{"name"});
  CHECK(fields({.name = "a-b", .blueprints = {"default"}}) == std::vector<std::string>{"name"});
  CHECK(fields({.name = "../x", .blueprints = {"Q"}, .packages = {"-r x"}, .secrets = {"PATH"}}) ==
        std::vector<std::string>{"name", "blueprints[0]", "packages[0]", "secrets[0]"});
  CHECK(fields({}) == std::vector<std::string>{"name", "blueprints"});
}

TEST_CASE("a mount inside of another is refused, and one in a place of the runtime") {
  const auto fields = [](const Problems& problems) {
    std::vector<std::string> names;
    for (const Problem& problem : problems) names.push_back(problem.field);
    return names;
  };
  SandboxConfig config;
  config.name = "box";
  config.resources = {{"/a", "/data/in/deep", true, {}}, {"/b", "/data", true, {}}};
  CHECK(fields(problems_of(config)) == std::vector<std::string>{"resources[0].container_path"});
  config.resources = {{"/a", "/data", true, {}}, {"/b", "/database", true, {}}};
  CHECK(problems_of(config).empty());
  for (const char* place : {"/hearth", "/hearth/init", "/packages"}) {
    config.resources = {{"/a", place, true, {}}};
    CHECK(fields(problems_of(config)) == std::vector<std::string>{"resources[0].container_path"});
  }
}
