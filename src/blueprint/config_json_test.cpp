#include "blueprint/config_json.h"

#include "blueprint/json_text.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

using namespace hearth::blueprint;

namespace {

std::string complaint_about(std::string_view text) {
  try {
    sandbox_config_from_json(text);
    return "accepted";
  } catch (const ConfigError& error) {
    std::string all;
    for (const Problem& problem : error.problems) all += to_string(problem) + '\n';
    return all;
  } catch (const JsonError& error) {
    return error.what();
  }
}

using rc::gen::inRange;

rc::Gen<std::string> word(const std::string& first, const std::string& later, int longest) {
  return rc::gen::mapcat(inRange(0, longest), [=](int size) {
    return rc::gen::apply(
        [](char head, const std::string& tail) { return head + tail; }, rc::gen::elementOf(first),
        rc::gen::container<std::string>(static_cast<std::size_t>(size), rc::gen::elementOf(later)));
  });
}

const std::string lower = "abcdefghijklmnopqrstuvwxyz";
const std::string digits = "0123456789";

rc::Gen<std::vector<std::string>> unique_words(const std::string& first, const std::string& later) {
  return rc::gen::map(rc::gen::container<std::set<std::string>>(word(first, later, 20)),
                      [](const std::set<std::string>& words) {
                        return std::vector<std::string>(words.begin(), words.end());
                      });
}

NetworkPolicy arbitrary_policy() {
  NetworkPolicy policy;
  policy.allowed_hosts = *unique_words(lower, lower + digits);
  for (std::string& host : policy.allowed_hosts) host += ".example";
  for (const std::string& host : policy.allowed_hosts) {
    if (!*rc::gen::arbitrary<bool>()) continue;
    const auto ports = *rc::gen::nonEmpty(
        rc::gen::container<std::set<std::int64_t>>(inRange<std::int64_t>(1, 65'536)));
    policy.allowed_ports[host].assign(ports.begin(), ports.end());
  }
  policy.default_port = *inRange<std::int64_t>(1, 65'536);
  return policy;
}

ResourceLimits arbitrary_limits() {
  ResourceLimits limits;
  limits.cpu_quota = 0.01 + *rc::gen::positive<double>() / 1e9;
  if (limits.cpu_quota > 4096) limits.cpu_quota = 1.0 / 3;
  limits.memory_mb = *inRange<std::int64_t>(1, 1'000'000);
  limits.memory_swap_mb = *rc::gen::element<std::int64_t>(-1, 0, limits.memory_mb + 1);
  limits.pids_limit = *inRange<std::int64_t>(1, 100'000);
  limits.execution_timeout_sec = *inRange<std::int64_t>(1, 86'400);
  limits.max_output_bytes = *inRange<std::int64_t>(1024, 100'000'000);
  limits.disk_read_mb_per_sec = *inRange<std::int64_t>(0, 10'000);
  return limits;
}

std::vector<FileResource> arbitrary_resources() {
  std::vector<FileResource> resources;
  // Any UTF-8 may stand in a path, quotes and backslashes above all.
  const std::string odd_path =
      *rc::gen::element<std::string>("/a b", "/\"q\"\\", "/ü/中", "/x\x7f");
  for (const std::string& name : *unique_words(lower, lower + digits)) {
    resources.push_back({.host_path = odd_path + "/" + name,
                         .container_path = "/data/" + name,
                         .read_only = *rc::gen::arbitrary<bool>()});
    if (*rc::gen::arbitrary<bool>()) resources.back().docker_host_path = odd_path;
  }
  return resources;
}

SandboxConfig arbitrary_config() {
  const auto part = word(lower + digits, lower + digits, 20);
  return {.name = *part + *rc::gen::element<std::string>("-", ".", "_", "__") + *part,
          .python_version = "3." + std::to_string(*inRange(8, 20)),
          .dependencies = *unique_words(lower, lower + digits),
          .preload = {"json"},
          .resources = arbitrary_resources(),
          .network_policy = arbitrary_policy(),
          .resource_limits = arbitrary_limits(),
          .secrets = *unique_words("SK", lower + digits + "_"),
          .execution_mode = *rc::gen::element(ExecutionMode::plan, ExecutionMode::interactive),
          .language = *rc::gen::element<std::string>("python", "bash", "javascript"),
          .sys_exit = *rc::gen::element(SysExit::python, SysExit::error),
          .output = *rc::gen::element(OutputMode::fail, OutputMode::truncate),
          .pool_size = *inRange<std::int64_t>(0, 10'000),
          .scratch_size_mb = *inRange<std::int64_t>(1, 100'000)};
}

}  // namespace

TEST_CASE("C1: any valid blueprint survives the way through JSON unchanged") {
  CHECK(rc::check("round trip", [] {
    const SandboxConfig config = arbitrary_config();
    RC_ASSERT(problems_of(config).empty());
    RC_ASSERT(sandbox_config_from_json(to_json(config)) == config);
  }));
}

TEST_CASE("C1: fractions survive the way through JSON to the last bit") {
  for (const double quota :
       {0.1, 1.0 / 3, 0.1 + 0.2, 2.675, 1234.5678901234567, 4095.9999999999995}) {
    SandboxConfig config{.name = "a"};
    config.resource_limits.cpu_quota = quota;
    CHECK(sandbox_config_from_json(to_json(config)).resource_limits.cpu_quota == quota);
  }
  CHECK(print_number(0.5) == "0.5");
}

TEST_CASE("C1: what JSON leaves out keeps its default") {
  CHECK(sandbox_config_from_json(R"({"name":"a"})") == SandboxConfig{.name = "a"});
  CHECK(sandbox_config_from_json(R"({"name":"a","resource_limits":{"memory_mb":512}})")
            .resource_limits == ResourceLimits{.memory_mb = 512});
}

TEST_CASE("unknown keys are refused with the nearest known one") {
  CHECK(complaint_about(R"({"name":"a","pool_sise":3})") ==
        "pool_sise is not a known key; did you mean \"pool_size\"?\n");
  CHECK(complaint_about(R"({"name":"a","resource_limits":{"memroy_mb":3}})") ==
        "resource_limits.memroy_mb is not a known key; did you mean \"memory_mb\"?\n");
  CHECK(complaint_about(R"({"name":"a","a.b \n":1})") == "\"a.b \\n\" is not a known key\n");
}

TEST_CASE("values of the wrong type are refused with their path") {
  CHECK(complaint_about(R"({"name":1})").find("name must be a string, is an integer\n") == 0);
  CHECK(complaint_about(R"({"name":"a","pool_size":1.5})") ==
        "pool_size must be an integer, is a number with a fraction\n");
  CHECK(complaint_about(R"({"name":"a","pool_size":true})") ==
        "pool_size must be an integer, is a boolean\n");
  CHECK(complaint_about(R"({"name":"a","pool_size":18446744073709551615})") ==
        "pool_size is larger than any integer that is allowed\n");
  CHECK(complaint_about(R"({"name":"a","secrets":["A",2]})")
            .find("secrets[1] must be a string, is an integer\n") == 0);
  CHECK(complaint_about(R"({"name":"a","secrets":null})") == "secrets must be a list, is null\n");
  CHECK(complaint_about(R"({"name":"a","resources":[[]]})")
            .find("resources[0] must be a table, is a list\n") == 0);
  CHECK(complaint_about(R"({"name":"a","network_policy":{"allowed_ports":{"b.c":[""]}}})")
            .find("network_policy.allowed_ports.\"b.c\"[0] must be an integer, is a string\n") ==
        0);
  CHECK(complaint_about(R"({"name":"a","execution_mode":"paln"})") ==
        "execution_mode must be one of plan, interactive, is \"paln\"; did you mean \"plan\"?\n");
  CHECK(complaint_about("[]").find("must be a table, is a list\n") == 0);
}

TEST_CASE("wrong types, unknown keys and bad values are reported together") {
  CHECK(complaint_about(R"({"name":"A","pool_size":"x","nmae":1})") ==
        "pool_size must be an integer, is a string\n"
        "nmae is not a known key; did you mean \"name\"?\n"
        "name must match [a-z0-9][a-z0-9_.-]{0,62}, is \"A\"\n");
}

TEST_CASE("text that is no JSON is refused with line and column") {
  CHECK(complaint_about("{\n  \"name\": x}").find("line 2, column 11: ") == 0);
  CHECK(complaint_about("").find("line 1, column 1: ") == 0);
  CHECK(complaint_about("{}{}") == "line 1, column 3: nothing may follow the value");
  CHECK(complaint_about(R"({"name":"a","name":"b"})").find("the key \"name\" is repeated") !=
        std::string::npos);
  CHECK(complaint_about(R"({"pool_size":1e999})").find("out of range") != std::string::npos);
  CHECK(complaint_about(std::string(100'000, '[')).find("line 1, column ") == 0);
  CHECK(complaint_about("{\"name\":\"\xff\"}").find("line 1, column ") == 0);
}

TEST_CASE("C26: a serialised blueprint holds the names of secrets and nothing else of them") {
  const std::string text = to_json({.name = "a", .secrets = {"STRIPE_KEY"}});
  CHECK(text.find("\"secrets\": [\"STRIPE_KEY\"]") != std::string::npos);
  // There is no place for a value: anything but a list of names is refused.
  CHECK(complaint_about(R"({"name":"a","secrets":{"STRIPE_KEY":"sk_live_1"}})") ==
        "secrets must be a list, is a table\n");
  CHECK(complaint_about(R"({"name":"a","secrets":["STRIPE_KEY=sk_live_1"]})")
            .find("no name of an environment variable") != std::string::npos);
}
