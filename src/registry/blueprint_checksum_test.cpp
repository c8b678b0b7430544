#include "registry/digest.h"
#include "registry/tool_registry.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

using namespace hearth::registry;
using hearth::blueprint::SandboxConfig;

namespace {

// Python need not look at these: the sums are the subject.
const RegistryOptions unchecked{.python = "hearth-no-such-python"};

struct Environment {
  SandboxConfig config{
      .name = "a", .dependencies = {"pandas>=1", "httpx"}, .preload = {"json", "re"}};
  std::vector<Tool> tools = {
      {.config = {.name = "one", .blueprints = {"a"}, .packages = {"scipy"}}, .source = "x = 1\n"},
      {.config = {.name = "two", .blueprints = {"a"}}, .source = "y = 2\n"}};
  RegistryOptions options = unchecked;
};

std::string checksum_of(const Environment& environment) {
  ToolRegistry registry(environment.options);
  registry.register_blueprint(environment.config);
  registry.register_tools(environment.tools);
  return registry.blueprint_checksum("a");
}

template <typename Change>
bool changes_the_sum(Change change) {
  Environment changed;
  change(changed);
  return checksum_of(changed) != checksum_of({});
}

}  // namespace

TEST_CASE("B4: the checksum is 64 hexadecimal digits and the same on every machine") {
  // Fixed on purpose: a change of the serialisation rebuilds every environment there is.
  CHECK(checksum_of({}) == "c5956595f44d012a4cad5ed61b511bedcfc7a2ca2b72474b067bf70cdec816e3");
}

TEST_CASE("B4: a change of a package, a tool, the Python or the harness changes the checksum") {
  CHECK(changes_the_sum([](Environment& e) { e.config.dependencies[0] = "pandas>=2"; }));
  CHECK(changes_the_sum([](Environment& e) { e.config.dependencies.pop_back(); }));
  CHECK(changes_the_sum([](Environment& e) { e.config.python_version = "3.12"; }));
  CHECK(changes_the_sum([](Environment& e) { e.config.preload.pop_back(); }));
  CHECK(changes_the_sum([](Environment& e) { e.tools[0].config.packages.clear(); }));
  CHECK(changes_the_sum([](Environment& e) { e.tools[0].config.name = "three"; }));
  CHECK(changes_the_sum([](Environment& e) { e.tools.pop_back(); }));
  CHECK(changes_the_sum([](Environment& e) { e.options.harness_version = "another"; }));
  CHECK(changes_the_sum([](Environment& e) { std::swap(e.tools[0].source, e.tools[1].source); }));
}

TEST_CASE("B4: what does not change the environment does not change the checksum") {
  CHECK_FALSE(changes_the_sum([](Environment& e) { e.config.pool_size = 7; }));
  CHECK_FALSE(changes_the_sum([](Environment& e) { e.config.resource_limits.memory_mb = 512; }));
  CHECK_FALSE(changes_the_sum([](Environment& e) { e.tools[0].file = "/elsewhere.py"; }));
  CHECK_FALSE(changes_the_sum([](Environment& e) { e.config.dependencies[0] = "Pandas >= 1"; }));
  CHECK_FALSE(changes_the_sum([](Environment& e) { e.config.dependencies.push_back("HTTPX"); }));
  // Where a package comes from does not matter, only that it is there.
  CHECK_FALSE(changes_the_sum([](Environment& e) {
    e.tools[0].config.packages.clear();
    e.config.dependencies.push_back("scipy");
  }));
}

TEST_CASE("B4: a tool of another sandbox changes nothing") {
  ToolRegistry registry(unchecked);
  registry.register_blueprint({.name = "a"});
  registry.register_blueprint({.name = "b"});
  const std::string before = registry.blueprint_checksum("a");
  registry.register_tool({.config = {.name = "t", .blueprints = {"b"}}, .source = "x"});
  CHECK(registry.blueprint_checksum("a") == before);
  CHECK(registry.blueprint_checksum("b") != before);
}

TEST_CASE("B4: reordering packages, tools and modules changes nothing") {
  CHECK(rc::check("reordering", [](unsigned seed) {
    std::mt19937 random(seed);
    Environment shuffled;
    std::shuffle(shuffled.config.dependencies.begin(), shuffled.config.dependencies.end(), random);
    std::shuffle(shuffled.config.preload.begin(), shuffled.config.preload.end(), random);
    std::shuffle(shuffled.tools.begin(), shuffled.tools.end(), random);
    RC_ASSERT(checksum_of(shuffled) == checksum_of({}));
  }));
}

TEST_CASE("B4: any change of a byte in a tool changes the checksum") {
  CHECK(rc::check("one byte", [](const std::string& source) {
    RC_PRE(!source.empty());
    Environment environment;
    environment.tools[0].source = source;
    const std::string before = checksum_of(environment);
    const auto at = *rc::gen::inRange<std::size_t>(0, source.size());
    const auto flip = *rc::gen::inRange(1, 256);
    char& byte = environment.tools[0].source[at];
    byte = static_cast<char>(byte ^ flip);
    RC_ASSERT(checksum_of(environment) != before);
  }));
}

TEST_CASE("B4: moving a byte from one field to the next changes the checksum") {
  CHECK(rc::check("fields stay apart", [](const std::string& left, const std::string& right) {
    RC_PRE(!right.empty());
    Environment environment;
    environment.tools[0].source = left;
    environment.tools[1].source = right;
    const std::string before = checksum_of(environment);
    environment.tools[0].source += right.front();
    environment.tools[1].source.erase(0, 1);
    RC_ASSERT(checksum_of(environment) != before);
  }));
}

TEST_CASE("a digest tells apart one field from two and a list from its elements") {
  const auto sum = [](auto fill) {
    Digest digest;
    fill(digest);
    return digest.finish();
  };
  CHECK(sum([](Digest& d) { d.add("ab"); }) != sum([](Digest& d) {
          d.add("a");
          d.add("b");
        }));
  CHECK(sum([](Digest& d) { d.add_list({}); }) != sum([](Digest&) {}));
  // SHA-256 of nothing.
  CHECK(sum([](Digest&) {}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
