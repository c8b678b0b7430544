#include "settings/print_toml.h"

#include "os/read_file.h"
#include "settings/load.h"
#include "settings/settings_fields.h"
#include "tests/support/source_directory.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::settings;

namespace {

Settings odd_settings() {
  Settings settings;
  settings.log = {log::Level::error, log::Format::json};
  settings.state.dir = "/a \"b\" \\ \n\t\x01\x7f ü";
  settings.builder = {.index_url = "https://index.example/simple",
                      .find_links = {"/wheels", "/a b"},
                      .no_index = true,
                      .build_timeout_sec = 5};
  settings.secrets = {{"A", {.env = "B"}}, {"C", {.file = "/d"}}};
  blueprint::SandboxConfig config{.name = "a"};
  config.resource_limits.cpu_quota = 1.0 / 3;
  config.network_policy = {.allowed_hosts = {"x.example", "2001:db8::1"},
                           .allowed_ports = {{"x.example", {1, 2}}, {"2001:db8::1", {3}}}};
  config.resources = {{.host_path = "/h", .container_path = "/data/x", .docker_host_path = "/d"},
                      {.host_path = "/i", .container_path = "/data/y", .read_only = false}};
  config.dependencies = {"a ; os_name == 'say \"hi\"'"};
  settings.blueprints = {config, {.name = "b"}};
  settings.tools = {{.config = {.name = "t", .blueprints = {"a"}}, .file = "/t.py"}};
  return settings;
}

Settings reloaded(const Settings& settings) {
  return load_settings({"/x/h.toml", print_toml(settings, {}), {}, {}}).settings;
}

}  // namespace

TEST_CASE("what is printed loads to the same settings") {
  CHECK(reloaded(Settings{}) == Settings{});
  CHECK(reloaded(odd_settings()) == odd_settings());
}

TEST_CASE("comments stand behind their key or above their table") {
  const std::string text = print_toml(
      odd_settings(), {{"log.level", "from HEARTH_LOG_LEVEL"}, {"blueprint[1]", "second"}});
  CHECK(text.find("level = \"error\"  # from HEARTH_LOG_LEVEL\n") != std::string::npos);
  CHECK(text.find("# second\n[[blueprint]]\nname = \"b\"\n") != std::string::npos);
}

TEST_CASE("C26: the effective configuration shows the sources of secrets only") {
  const std::string text = print_toml(odd_settings(), {});
  CHECK(text.find("[secrets]\nA = { env = \"B\" }\nC = { file = \"/d\" }\n") != std::string::npos);
}

TEST_CASE("C1: the example explains every key there is, and is valid") {
  const std::string text =
      os::read_file(test::source_directory() + "/hearth.example.toml", 1'000'000);
  const Settings settings =
      load_settings({test::source_directory() + "/hearth.example.toml", text, {}, {}}).settings;
  // The first blueprint spells out the defaults.
  REQUIRE(settings.blueprints.size() >= 2);
  CHECK(settings.blueprints[0] == blueprint::SandboxConfig{.name = "default"});
  CHECK(settings.log == LogSettings{});
  CHECK(settings.state == StateSettings{});
  CHECK(settings.pool == PoolSettings{});
  CHECK(settings.builder == BuilderSettings{});
  CHECK(settings.native == NativeSettings{});
  CHECK(settings.docker == DockerSettings{});

  const auto explains = [&](auto described) {
    for_each_field(described, [&](std::string_view key, const auto&) {
      const std::string name(key);
      INFO(name);
      const bool found = text.find('\n' + name + " = ") != std::string::npos ||
                         text.find("{ " + name + " = ") != std::string::npos ||
                         text.find('[' + name + ']') != std::string::npos ||
                         text.find("blueprint." + name + ']') != std::string::npos;
      CHECK(found);
    });
  };
  explains(Settings{});
  explains(LogSettings{});
  explains(StateSettings{});
  explains(PoolSettings{});
  explains(BuilderSettings{});
  explains(NativeSettings{});
  explains(DockerSettings{});
  explains(SecretSource{});
  explains(ToolDeclaration{});
  explains(blueprint::SandboxConfig{});
  explains(blueprint::ResourceLimits{});
  explains(blueprint::NetworkPolicy{});
  explains(blueprint::FileResource{});
}
