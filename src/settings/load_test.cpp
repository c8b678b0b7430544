#include "settings/load.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace hearth;
using namespace hearth::settings;

namespace {

Settings load(std::string text, Env env = {}, std::vector<CommandLineSetting> command_line = {}) {
  return load_settings(
             {"/etc/hearth/hearth.toml", std::move(text), std::move(env), std::move(command_line)})
      .settings;
}

// What a person would read, without the excerpts.
std::vector<std::string> complaints(std::string text, Env env = {},
                                    std::vector<CommandLineSetting> command_line = {}) {
  std::vector<std::string> lines;
  try {
    load_settings({"h.toml", std::move(text), std::move(env), std::move(command_line)});
  } catch (const SettingsError& error) {
    for (Diagnostic diagnostic : error.diagnostics) {
      diagnostic.excerpt = {};
      lines.push_back(render(diagnostic, false));
    }
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a direct reference needs the consent that source builds need") {
  const std::string sandbox = "[[blueprint]]\nname = 'box'\ndependencies = ['x', @]\n";
  for (const std::string url : {"file:///tmp/x", "git+https://example.org/x", "https://a/b.whl"}) {
    std::string text = sandbox;
    text.replace(text.find('@'), 1, "'evil @ " + url + "'");
    INFO(url);
    CHECK(complaints(text) ==
          Lines{"h.toml:3:22: error: blueprint[0].dependencies[1] is a direct reference, which "
                "may run code of its own while it is installed; allow_source_builds = true in "
                "[builder] permits that"});
    CHECK(complaints("[builder]\nallow_source_builds = true\n" + text).empty());
  }
}

TEST_CASE("C1: an empty file means the defaults") {
  const Settings settings = load("");
  CHECK(settings == Settings{});
  CHECK(settings.pool.backend == "native");
  CHECK(settings.pool.max_overflow == 10);
  CHECK(settings.pool.checkout_timeout_ms == 30'000);
}

TEST_CASE("a file declares settings, blueprints, tools and the sources of secrets") {
  const Settings settings = load(R"(
[log]
level = "debug"
[[blueprint]]
name = "default"
[blueprint.resource_limits]
memory_mb = 512
[blueprint.network_policy]
allowed_hosts = ["API.example."]
[[blueprint]]
name = "other"
[[tool]]
name = "search"
file = "tools/search.py"
blueprints = ["default", "other"]
packages = ["httpx"]
secrets = ["KEY"]
[secrets]
KEY = { env = "MY_KEY" }
OTHER = { file = "secrets/other" }
)");
  CHECK(settings.log.level == log::Level::debug);
  REQUIRE(settings.blueprints.size() == 2);
  CHECK(settings.blueprints[0].resource_limits.memory_mb == 512);
  CHECK(settings.blueprints[0].network_policy.allowed_hosts == Lines{"api.example"});
  CHECK(settings.blueprints[1] == blueprint::SandboxConfig{.name = "other"});
  REQUIRE(settings.tools.size() == 1);
  CHECK(settings.tools[0].config.packages == Lines{"httpx"});
  CHECK(settings.secrets.at("KEY") == SecretSource{.env = "MY_KEY"});
}

TEST_CASE("relative paths are relative to the configuration's folder") {
  const Settings settings = load(R"(
[[blueprint]]
name = "a"
[[tool]]
name = "one"
file = "tools/../one.py"
blueprints = ["a"]
[[tool]]
name = "two"
file = "/srv/two.py"
blueprints = ["a"]
[secrets]
KEY = { file = "key" }
)");
  CHECK(settings.tools[0].file == "/etc/hearth/one.py");
  CHECK(settings.tools[1].file == "/srv/two.py");
  CHECK(settings.secrets.at("KEY").file == "/etc/hearth/key");
}

TEST_CASE("an unknown key is an error at its place, with the nearest known one") {
  CHECK(complaints("[log]\n  levle = 1\n") ==
        Lines{"h.toml:2:3: error: log.levle is not a known key; did you mean \"level\"?"});
  CHECK(complaints("[[blueprnit]]\nname = 'a'\n") ==
        Lines{"h.toml:1:3: error: blueprnit is not a known key; did you mean \"blueprint\"?"});
  CHECK(complaints("[[blueprint]]\nname = 'a'\nresource_limits = { memroy_mb = 1 }\n") ==
        Lines{"h.toml:3:21: error: blueprint[0].resource_limits.memroy_mb is not a known key; did "
              "you mean \"memory_mb\"?"});
  CHECK(complaints("quite_different = 1\n") ==
        Lines{"h.toml:1:1: error: quite_different is not a known key"});
}

TEST_CASE("a value of the wrong type is an error at its place") {
  CHECK(complaints("[pool]\nbackend = 8080\n") ==
        Lines{"h.toml:2:11: error: pool.backend must be a string, is an integer; write it in "
              "quotes"});
  CHECK(complaints("log = 3\n") == Lines{"h.toml:1:7: error: log must be a table, is an integer"});
  CHECK(complaints("[blueprint]\nname = 'a'\n") ==
        Lines{"h.toml:1:1: error: blueprint must be a list of tables, is a table; write "
              "[[blueprint]], with two brackets"});
  CHECK(complaints("[[blueprint]]\nname = 1979-05-27\n")
            .front()
            .find("h.toml:2:8: error: blueprint[0].name is a date or a time, which no key takes") ==
        0);
}

TEST_CASE("C9: all errors of a file are reported together, sorted by position") {
  const Lines lines = complaints(R"([[tool]]
name = "t"
file = "t.py"
blueprints = ["defualt"]
[[blueprint]]
name = "default"
pool_size = "many"
[blueprint.resource_limits]
memory_mb = 512
memory_swap_mb = 512
[[blueprint]]
name = "default"
[state]
dir = "example"
[pool]
max_overflow = -1
)");
  REQUIRE(lines.size() == 6);
  CHECK(
      lines[0] ==
      "h.toml:4:15: error: tool[0].blueprints[0] names the unknown blueprint \"defualt\"; did you "
      "mean \"default\"?");
  CHECK(lines[1] == "h.toml:7:13: error: blueprint[0].pool_size must be an integer, is a string");
  CHECK(lines[2].find("h.toml:10:18: error: blueprint[0].resource_limits.memory_swap_mb is the") ==
        0);
  CHECK(lines[3] ==
        "h.toml:12:8: error: blueprint[1].name repeats \"default\", the name of blueprint[0]");
  CHECK(lines[4] == "h.toml:14:7: error: state.dir must be absolute, is \"example\"");
  CHECK(lines[5] == "h.toml:16:16: error: pool.max_overflow must be at least 0, is -1");
}

TEST_CASE("a syntax error has its place") {
  const Lines lines = complaints("[log]\nlevel = \n");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("h.toml:2:9: error: ") == 0);
  CHECK(complaints("a = \"\xff\"").size() == 1);
}

TEST_CASE("what is missing is reported at the table it is missing from") {
  CHECK(
      complaints("\n[[tool]]\nname = 'a'\nblueprints = []\n") ==
      Lines{
          "h.toml:2:1: error: tool[0].file is missing",
          "h.toml:4:14: error: tool[0].blueprints is empty; name the blueprints whose scripts may "
          "call the tool"});
}

TEST_CASE("the command line wins over the environment, that over the file, that over the default") {
  const std::string file = "[log]\nlevel = 'warning'\n";
  CHECK(load("").log.level == log::Level::info);
  CHECK(load(file).log.level == log::Level::warning);
  CHECK(load(file, {{"HEARTH_LOG_LEVEL", "error"}}).log.level == log::Level::error);
  CHECK(load(file, {{"HEARTH_LOG_LEVEL", "error"}}, {{"log.level", "debug"}}).log.level ==
        log::Level::debug);
  CHECK(load("", {{"HEARTH_POOL_MAX_USES", "7"}}).pool.max_uses == 7);
  CHECK(load("", {}, {{"state.dir", "/x=y"}}).state.dir == "/x=y");
}

TEST_CASE("switches and lists can be overridden too") {
  CHECK(load("", {{"HEARTH_BUILDER_NO_INDEX", "true"}}).builder.no_index);
  CHECK_FALSE(
      load("[builder]\nno_index = true\n", {}, {{"builder.no_index", "false"}}).builder.no_index);
  CHECK(load("", {}, {{"builder.find_links", "/a:/b c"}}).builder.find_links ==
        Lines{"/a", "/b c"});
  CHECK(load("[builder]\nfind_links = ['/x']\n", {}, {{"builder.find_links", ""}})
            .builder.find_links.empty());
  CHECK(complaints("", {}, {{"builder.find_links", "/a::/b"}}) ==
        Lines{"--set builder.find_links: error: builder.find_links[1] is empty"});
  CHECK(
      complaints("", {{"HEARTH_BUILDER_NO_INDEX", "yes"}}) ==
      Lines{"HEARTH_BUILDER_NO_INDEX: error: builder.no_index must be true or false, is a string; "
            "write true"});
}

TEST_CASE("what was overridden is known with its origin") {
  const LoadedSettings loaded = load_settings({"h.toml",
                                               "",
                                               {{"HEARTH_LOG_FORMAT", "json"}, {"PATH", "/bin"}},
                                               {{"pool.max_overflow", "3"}}});
  CHECK(loaded.origins == Origins{{"log.format", "HEARTH_LOG_FORMAT"},
                                  {"pool.max_overflow", "--set pool.max_overflow"}});
}

TEST_CASE("a bad value from the environment or the command line names where it came from") {
  CHECK(complaints("[log]\nlevel = 'info'\n", {{"HEARTH_LOG_LEVEL", "loud"}}) ==
        Lines{"HEARTH_LOG_LEVEL: error: log.level must be one of debug, info, warning, error, is "
              "\"loud\""});
  CHECK(complaints("", {{"HEARTH_POOL_MAX_USES", "many"}}) ==
        Lines{"HEARTH_POOL_MAX_USES: error: pool.max_uses must be an integer, is a string"});
  CHECK(complaints("", {}, {{"log.levle", "info"}}) ==
        Lines{"--set log.levle: error: is not a known key; did you mean \"log.level\"?"});
}

TEST_CASE("a variable that is nearly a setting gets a warning, others none") {
  const auto warnings = [](Env env) {
    return load_settings({"h.toml", "", std::move(env), {}}).warnings;
  };
  CHECK(warnings({{"HEARTH_LOG_LEVLE", "debug"}}) ==
        Lines{"HEARTH_LOG_LEVLE is not a known setting; did you mean HEARTH_LOG_LEVEL?"});
  CHECK(warnings({{"HEARTH_CONFIG", "x"}, {"HEARTH_LIBEXEC", "x"}}).empty());
  CHECK(warnings({{"HEARTH_API_TOKEN", "x"}, {"HOME", "/"}}).empty());
}

TEST_CASE("C26: a secret's value in the file is refused with an explanation and never shown") {
  const std::vector<std::string> texts = {
      "[secrets]\nKEY = \"hunter2\"\n",
      "[secrets]\nKEY = { value = \"hunter2\" }\n",
      "[secrets]\nKEY = { env = \"hunter2 !\" }\n",
      "[secrets]\nKEY = [ \"hunter2\" ]\n",
      "[secrets]\nKEY = \"hunter2\n",
      "[ secrets ]\nKEY = { env = \"hunter2\"\n",
      "secrets.KEY = \"hunter2\"\n",
      "secrets = { KEY = \"hunter2\" }\n",
      "secrets = \"hunter2\"\n",
      "[[blueprint]]\nname = 'a'\ndependencies = ['a @ https://hunter2@x/y', '-r x']\n",
      "[builder]\nindex_url = 'https://me:hunter2@x/y'\n",
  };
  for (const std::string& text : texts) {
    INFO(text);
    try {
      load(text);
      FAIL("accepted");
    } catch (const SettingsError& error) {
      CHECK(std::string(error.what()).find("hunter2") == std::string::npos);
      for (const Diagnostic& diagnostic : error.diagnostics)
        CHECK(render(diagnostic, false).find("hunter2") == std::string::npos);
    }
  }
  CHECK(complaints("[secrets]\nKEY = \"hunter2\"\n") ==
        Lines{"h.toml:2:7: error: secrets.KEY must not be a value: no secret stands in a "
              "configuration; name where it is read: { env = \"NAME\" } or { file = \"/path\" }"});
}

TEST_CASE("C26: a secret has one source and a name a secret may have") {
  CHECK(complaints("[secrets]\nKEY = {}\n").size() == 1);
  CHECK(complaints("[secrets]\nKEY = { env = 'A', file = '/a' }\n") ==
        Lines{"h.toml:2:7: error: secrets.KEY has two sources; leave one of env and file"});
  CHECK(complaints("[secrets]\nPATH = { env = 'A' }\n").size() == 1);
  CHECK(complaints("[secrets]\n'a b' = { env = 'A' }\n").size() == 1);
  CHECK(complaints("[secrets]\nKEY = { env = 'A' }\n").empty());
}

TEST_CASE("a path with a NUL byte is refused: the kernel would read only its beginning") {
  CHECK(complaints("[[blueprint]]\nname = 'a'\n[[tool]]\nname = 't'\nfile = \"a\\u0000b\"\n"
                   "blueprints = ['a']\n[state]\ndir = \"/x\\u0000\"\n[secrets]\n"
                   "KEY = { file = \"/a\\u0000\" }\n") ==
        Lines{"h.toml:5:8: error: tool[0].file holds a NUL byte, which no path can",
              "h.toml:8:7: error: state.dir holds a NUL byte, which no path can",
              "h.toml:10:16: error: secrets.KEY.file holds a NUL byte, which no path can"});
}

TEST_CASE("every option of the pool is a key with bounds") {
  const Settings settings = load(R"([pool]
max_uses = 3
checkout_timeout_ms = 5
memory_budget_mb = 1024
idle_memory_mb = 8
max_age_sec = 60
probe_after_sec = 7
replacement_delay_ms = 0
)");
  CHECK(settings.pool == PoolSettings{.max_uses = 3,
                                      .checkout_timeout_ms = 5,
                                      .memory_budget_mb = 1024,
                                      .idle_memory_mb = 8,
                                      .max_age_sec = 60,
                                      .probe_after_sec = 7,
                                      .replacement_delay_ms = 0});
  for (const char* key : {"max_uses", "checkout_timeout_ms", "memory_budget_mb", "idle_memory_mb",
                          "max_age_sec", "probe_after_sec", "replacement_delay_ms"}) {
    INFO(key);
    CHECK(complaints("", {}, {{std::string("pool.") + key, "-1"}}).size() == 1);
    CHECK(complaints("", {}, {{std::string("pool.") + key, "9999999999999"}}).size() == 1);
  }
}

TEST_CASE("a section that nothing reads is refused") {
  CHECK(complaints("[server]\nport = 1\n") ==
        Lines{"h.toml:1:2: error: server is not a known key"});
}

TEST_CASE("A17: A14: the limits of sessions come from the file, or the variables operators know") {
  const SessionSettings defaults;
  CHECK(defaults.max_sandboxes == 1000);
  CHECK(defaults.idle_timeout_ms == 1'800'000);
  CHECK(load("[session]\nmax_sandboxes = 7\nidle_timeout_ms = 8\n").session ==
        SessionSettings{.max_sandboxes = 7, .idle_timeout_ms = 8});
  const Env env{{"HEARTH_MAX_SANDBOXES", "9"}, {"HEARTH_IDLE_TIMEOUT_MS", "10"}};
  CHECK(load("[session]\nmax_sandboxes = 7\n", env).session ==
        SessionSettings{.max_sandboxes = 9, .idle_timeout_ms = 10});
  for (const char* key : {"max_sandboxes", "max_live", "idle_timeout_ms", "sweep_interval_ms",
                          "gone_for_sec", "max_snapshot_mb", "max_snapshot_files"}) {
    INFO(key);
    CHECK(complaints("", {}, {{std::string("session.") + key, "-1"}}).size() == 1);
    CHECK(complaints("", {}, {{std::string("session.") + key, "9999999999999"}}).size() == 1);
  }
  CHECK(complaints("[session]\nsnapshots_dir = 'here'\n") ==
        Lines{"h.toml:2:17: error: session.snapshots_dir must be absolute, is \"here\""});
}

TEST_CASE("a store is a Postgres by its URL, without the password") {
  for (const char* good :
       {"", "postgres://hearth@db.example/hearth", "postgresql:///db?host=/run"}) {
    INFO(good);
    CHECK(load(std::string("[store]\nurl = '") + good + "'\n").store.url == good);
  }
  CHECK(complaints("[store]\nurl = 'mysql://db'\n").size() == 1);
  for (const char* secret :
       {"postgres://u:hunter2@db/x", "postgres:///x?user=u&password=hunter2"}) {
    INFO(secret);
    const Lines lines = complaints(std::string("[store]\nurl = '") + secret + "'\n");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find("has a password in it") != std::string::npos);
    CHECK(lines[0].find("hunter2") == std::string::npos);
  }
}

TEST_CASE("directories of wheels are relative to the configuration's folder") {
  CHECK(load("[builder]\nfind_links = ['wheels', '/srv/wheels']\n").builder.find_links ==
        Lines{"/etc/hearth/wheels", "/srv/wheels"});
}

TEST_CASE("an index is a URL, a directory has a name, a build ends within a day") {
  CHECK(complaints("[builder]\nindex_url = 'pypi.org'\nfind_links = ['']\n"
                   "build_timeout_sec = 0\n") ==
        Lines{"h.toml:2:13: error: builder.index_url must be the URL of an index, like "
              "https://pypi.org/simple, is \"pypi.org\"",
              "h.toml:3:15: error: builder.find_links[0] is empty",
              "h.toml:4:21: error: builder.build_timeout_sec must be at least 1, is 0"});
  for (const char* good :
       {"", "https://x.example/simple", "http://[::1]:80/@a", "file:///srv/index"}) {
    INFO(good);
    CHECK(complaints("", {}, {{"builder.index_url", good}}).empty());
  }
  for (const char* bad : {"ftp://x", "https://x y", "--index", "file://x"}) {
    INFO(bad);
    CHECK(complaints("", {}, {{"builder.index_url", bad}}).size() == 1);
  }
}

TEST_CASE("the configuration is the named one, else $HEARTH_CONFIG, else the usual places") {
  const SettingsFile named = find_settings_file("x.toml", {{"HEARTH_CONFIG", "y.toml"}});
  CHECK((named.path == "x.toml" && named.was_named));
  const SettingsFile set = find_settings_file(std::nullopt, {{"HEARTH_CONFIG", "y.toml"}});
  CHECK((set.path == "y.toml" && set.was_named));
  const test::TemporaryDirectory folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  if (!std::filesystem::exists("/etc/hearth/hearth.toml"))
    CHECK_THROWS_AS(find_settings_file(std::nullopt, {}), Error);
  std::ofstream("hearth.toml") << "";
  const SettingsFile found = find_settings_file(std::nullopt, {});
  CHECK((found.path == "hearth.toml" && !found.was_named));
  CHECK_FALSE(read_settings_input(found, {}, {}).was_named);
  CHECK(read_settings_input({"hearth.toml"}, {}, {}).text.empty());
  std::filesystem::current_path(before);
}
