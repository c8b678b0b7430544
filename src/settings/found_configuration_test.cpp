#include "settings/found_configuration.h"

#include "settings/load.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace hearth;
using namespace hearth::settings;
namespace fs = std::filesystem;

namespace {

// `key` and place of each problem of a file that was found in `folder`.
std::string refused(const fs::path& folder, std::string text, Env env = {},
                    bool was_named = false) {
  std::string places;
  try {
    load_settings({.file = folder / "hearth.toml",
                   .text = std::move(text),
                   .env = std::move(env),
                   .was_named = was_named});
  } catch (const SettingsError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics) {
      CHECK(diagnostic.message.find("name it (--config hearth.toml, or HEARTH_CONFIG)") !=
            std::string::npos);
      places += diagnostic.key + ' ' + std::to_string(diagnostic.line) + ':' +
                std::to_string(diagnostic.column) + '\n';
    }
  }
  return places;
}

const std::string reaching = R"([state]
dir = "/srv/state"
[builder]
index_url = "file:///srv/index"
find_links = ["wheels", "../wheels"]
allow_source_builds = true
[native]
allow_degraded = true
[docker]
host = "tcp://127.0.0.1:4000"
runtime = "runc"
build_network = "host"
[session]
snapshots_dir = "/srv/snapshots"
[store]
url = "postgres://host/db"
[host_path_map]
"/data" = "/srv"
[secrets]
FROM_FILE = { file = "/etc/shadow" }
FROM_VARIABLE = { env = "TOKEN" }
[[blueprint]]
name = "default"
secrets = ["FROM_FILE", "AWS_SECRET_ACCESS_KEY"]
[[blueprint.resources]]
host_path = "/etc"
container_path = "/data"
docker_host_path = "/etc"
[[tool]]
name = "greet"
file = "../greet.py"
blueprints = ["default"]
secrets = ["OTHER"]
)";

}  // namespace

TEST_CASE("a configuration that was only found may not reach outside of its directory") {
  const test::TemporaryDirectory folder;
  CHECK(refused(folder.path(), reaching) ==
        "state.dir 2:7\n"
        "builder.index_url 4:13\n"
        "builder.find_links 5:14\n"
        "builder.find_links[1] 5:25\n"
        "builder.allow_source_builds 6:23\n"
        "native.allow_degraded 8:18\n"
        "docker.host 10:8\n"
        "docker.runtime 11:11\n"
        "docker.build_network 12:17\n"
        "session.snapshots_dir 14:17\n"
        "store.url 16:7\n"
        "host_path_map.\"/data\" 18:11\n"
        "secrets.FROM_FILE.file 20:22\n"
        "secrets.FROM_VARIABLE.env 21:25\n"
        "blueprint[0].secrets[1] 24:25\n"
        "blueprint[0].resources[0].host_path 26:13\n"
        "blueprint[0].resources[0].docker_host_path 28:20\n"
        "tool[0].file 31:8\n"
        "tool[0].secrets[0] 33:12\n");
  CHECK(refused(folder.path(), reaching, {}, true).empty());
}

TEST_CASE("a configuration that was only found uses what is in its directory") {
  const test::TemporaryDirectory folder;
  const std::string here = folder.path().string();
  CHECK(refused(folder.path(), R"([builder]
find_links = ["wheels"]
no_index = true
[secrets]
KEY = { file = "key" }
[[blueprint]]
name = "default"
secrets = ["KEY"]
[[blueprint.resources]]
host_path = ")" + here + R"(/data"
container_path = "/data"
[[tool]]
name = "greet"
file = "tools/greet.py"
blueprints = ["default"]
)")
            .empty());
}

TEST_CASE(
    "a configuration that was only found brings no state, no base image and no way to write") {
  const test::TemporaryDirectory folder;
  const std::string here = folder.path().string();
  CHECK(refused(folder.path(), "[state]\ndir = \"" + here + "/state\"\n") == "state.dir 2:7\n");
  CHECK(refused(folder.path(), "[docker]\nbase_image = \"evil:1\"\nimage_prefix = \"other-\"\n") ==
        "docker.base_image 2:14\ndocker.image_prefix 3:16\n");
  CHECK(refused(folder.path(), "[session]\nmax_sandboxes = 500\nidle_timeout_ms = 1800000\n") ==
        "session.max_sandboxes 2:17\n");
  CHECK(refused(folder.path(), "[store]\ntime_limit_ms = 4000\n") == "store.time_limit_ms 2:17\n");
  CHECK(refused(folder.path(), "[builder]\nindex_url = \"file://" + here + "/%2e%2e/index\"\n") ==
        "builder.index_url 2:13\n");
  CHECK(refused(folder.path(), R"([[blueprint]]
name = "default"
[[blueprint.resources]]
host_path = ")" + here + R"("
container_path = "/data"
read_only = false
)") == "blueprint[0].resources[0].read_only 6:13\n");
}

TEST_CASE("a symbolic link, or a name that begins alike, does not lead out of the directory") {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "here");
  fs::create_directories(folder.path() / "here-not");
  fs::create_symlink("/etc", folder.path() / "here/link");
  const auto with = [&](const std::string& file) {
    return refused(folder.path() / "here", "[secrets]\nKEY = { file = \"" + file + "\" }\n");
  };
  CHECK(with("link/shadow") == "secrets.KEY.file 2:16\n");
  CHECK(with("../here-not/key") == "secrets.KEY.file 2:16\n");
  CHECK(with("../here/key").empty());
}

TEST_CASE(
    "a configuration that was only found mounts no path through a link, and chooses no backend") {
  const test::TemporaryDirectory folder;
  const fs::path here = fs::canonical(folder.path());
  fs::create_directories(here / "data");
  fs::create_symlink("data", here / "link");
  const auto with = [&](const std::string& path) {
    return refused(
        here, "[[blueprint]]\nname = \"default\"\n[[blueprint.resources]]\nhost_path = \"" + path +
                  "\"\ncontainer_path = \"/data\"\n");
  };
  CHECK(with(here / "data").empty());
  CHECK(with(here / "link") == "blueprint[0].resources[0].host_path 4:13\n");
  CHECK(with("/proc/" + std::to_string(::getpid()) + "/root" + (here / "data").string()) ==
        "blueprint[0].resources[0].host_path 4:13\n");
  CHECK(refused(here, "[pool]\nbackend = \"docker\"\n") == "pool.backend 2:11\n");
}

TEST_CASE("a configuration that was only found does not take the machine from its user") {
  const test::TemporaryDirectory folder;
  const std::string greedy = R"([pool]
memory_budget_mb = 900000000
[builder]
build_memory_mb = 1048576
[[blueprint]]
name = "default"
scratch_size_mb = 900000
[blueprint.resource_limits]
memory_mb = 1000000
memory_swap_mb = 1000001
pids_limit = 4097
max_output_bytes = 268435457
)";
  CHECK(refused(folder.path(), greedy) ==
        "pool.memory_budget_mb 2:20\n"
        "builder.build_memory_mb 4:19\n"
        "blueprint[0].scratch_size_mb 7:19\n"
        "blueprint[0].resource_limits.memory_mb 9:13\n"
        "blueprint[0].resource_limits.memory_swap_mb 10:18\n"
        "blueprint[0].resource_limits.pids_limit 11:14\n"
        "blueprint[0].resource_limits.max_output_bytes 12:20\n");
  CHECK(refused(folder.path(), greedy, {}, true).empty());
  CHECK(refused(folder.path(), R"([builder]
build_memory_mb = 4096
[[blueprint]]
name = "default"
[blueprint.resource_limits]
memory_mb = 256
pids_limit = 4096
max_output_bytes = 268435456
)")
            .empty());
}

TEST_CASE("what the environment says beside a found configuration is its user's own word") {
  const test::TemporaryDirectory folder;
  CHECK(refused(folder.path(), "",
                {{"HEARTH_STATE_DIR", "/srv/state"},
                 {"HEARTH_BUILDER_FIND_LINKS", "/wheels"},
                 {"HEARTH_NATIVE_ALLOW_DEGRADED", "true"}})
            .empty());
}
