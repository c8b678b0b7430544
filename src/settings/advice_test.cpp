#include "settings/load.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace hearth;
using namespace hearth::settings;

namespace {

// The first complaint, without its file and excerpt.
std::string complaint(const std::string& text) {
  try {
    load_settings({"h.toml", text, {}, {}});
  } catch (const SettingsError& error) {
    Diagnostic first = error.diagnostics.front();
    first.excerpt = {};
    return render(first, false).substr(std::string("h.toml:").size());
  }
  return "none";
}

struct Row {
  std::string text;
  std::string complaint;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(complaint(row.text) == row.complaint);
  }
}

std::string in_blueprint(const std::string& lines) {
  return "[[blueprint]]\nname = 'a'\n" + lines + '\n';
}

}  // namespace

TEST_CASE("C9: a key in the wrong section is told which one it belongs into") {
  check({
      {in_blueprint("memory_mb = 512"),
       "3:1: error: blueprint[0].memory_mb is not a known key; it belongs into "
       "[blueprint.resource_limits]"},
      {"memory_mb = 512\n",
       "1:1: error: memory_mb is not a known key; it belongs into [blueprint.resource_limits]"},
      {in_blueprint("allowed_hosts = []"),
       "3:1: error: blueprint[0].allowed_hosts is not a known key; it belongs into "
       "[blueprint.network_policy]"},
      {in_blueprint("host_path = '/x'"),
       "3:1: error: blueprint[0].host_path is not a known key; it belongs into "
       "[[blueprint.resources]]"},
      {in_blueprint("[blueprint.resource_limits]\npool_size = 3"),
       "4:1: error: blueprint[0].resource_limits.pool_size is not a known key; it belongs into "
       "[[blueprint]]"},
      {"[pool]\npool_size = 3\n",
       "2:1: error: pool.pool_size is not a known key; it belongs into [[blueprint]]"},
      {"[docker]\nno_index = true\n",
       "2:1: error: docker.no_index is not a known key; it belongs into [builder]"},
      {"level = 'debug'\n", "1:1: error: level is not a known key; it belongs into [log]"},
      {"[resource_limits]\nmemory_mb = 1\n",
       "1:2: error: resource_limits is not a known key; write [blueprint.resource_limits]"},
      {in_blueprint("[blueprint.other]\n"), "3:12: error: blueprint[0].other is not a known key"},
      // A plain word may mean anything elsewhere.
      {"[log]\nfile = 'x'\n", "2:1: error: log.file is not a known key"},
  });
}

TEST_CASE("C9: a key by the name it has in other programs is told its name here") {
  check({
      {in_blueprint("timeout = 5"),
       "3:1: error: blueprint[0].timeout is not a known key; execution_timeout_sec belongs into "
       "[blueprint.resource_limits]"},
      {in_blueprint("resource_limits = { timeout = 5 }"),
       "3:21: error: blueprint[0].resource_limits.timeout is not a known key; it is called "
       "execution_timeout_sec"},
      {"[pool]\ntimeout = 5\n",
       "2:1: error: pool.timeout is not a known key; it is called checkout_timeout_ms"},
      {in_blueprint("python = '3.11'"),
       "3:1: error: blueprint[0].python is not a known key; it is called python_version"},
      {in_blueprint("packages = ['x']"),
       "3:1: error: blueprint[0].packages is not a known key; it is called dependencies"},
      {in_blueprint(
           "[[tool]]\nname = 't'\nfile = 't.py'\nblueprints = ['a']\ndependencies = ['x']"),
       "7:1: error: tool[0].dependencies is not a known key; it is called packages"},
      {in_blueprint("[[tool]]\nname = 't'\nfile = 't.py'\nblueprints = ['a']\nsandboxes = []"),
       "7:1: error: tool[0].sandboxes is not a known key; it is called blueprints"},
      {"[[sandbox]]\nname = 'a'\n", "1:3: error: sandbox is not a known key; write [[blueprint]]"},
      {in_blueprint("mounts = ['/x']"),
       "3:1: error: blueprint[0].mounts is not a known key; write [[blueprint.resources]]"},
      {"[docker]\nimage = 'x'\n",
       "2:1: error: docker.image is not a known key; it is called base_image"},
  });
}

TEST_CASE("C9: a value of the wrong kind is told how to write it") {
  check({
      {"[blueprint]\nname = 'a'\n",
       "1:1: error: blueprint must be a list of tables, is a table; write [[blueprint]], with two "
       "brackets"},
      {in_blueprint("[blueprint.resources]\nhost_path = '/x'"),
       "3:1: error: blueprint[0].resources must be a list of tables, is a table; write "
       "[[blueprint.resources]], with two brackets"},
      {"[[log]]\nlevel = 'info'\n",
       "1:1: error: log must be a table, is a list; write [log], once"},
      {in_blueprint("python_version = 3.11"),
       "3:18: error: blueprint[0].python_version must be a string, is a number with a fraction; "
       "write it in quotes"},
      {in_blueprint("dependencies = 'x'"),
       "3:16: error: blueprint[0].dependencies must be a list, is a string; write it in brackets, "
       "like [\"...\"]"},
      {in_blueprint("pool_size = '5'"),
       "3:13: error: blueprint[0].pool_size must be an integer, is a string; write 5"},
      {in_blueprint("[blueprint.resource_limits]\nmemory_mb = '256M'"),
       "4:13: error: blueprint[0].resource_limits.memory_mb must be an integer, is a string; write "
       "256"},
      {in_blueprint("[blueprint.resource_limits]\nmemory_mb = '1.5 GB'"),
       "4:13: error: blueprint[0].resource_limits.memory_mb must be an integer, is a string; write "
       "1536"},
      {in_blueprint("[blueprint.resource_limits]\nexecution_timeout_sec = '2 min'"),
       "4:25: error: blueprint[0].resource_limits.execution_timeout_sec must be an integer, is a "
       "string; write 120"},
      {in_blueprint("[blueprint.resource_limits]\nmax_output_bytes = '10k'"),
       "4:20: error: blueprint[0].resource_limits.max_output_bytes must be an integer, is a "
       "string; "
       "write 10240"},
      {in_blueprint("[blueprint.resource_limits]\ncpu_quota = '50%'"),
       "4:13: error: blueprint[0].resource_limits.cpu_quota must be a number, is a string; write "
       "0.5"},
      {"[pool]\ncheckout_timeout_ms = '5s'\n",
       "2:23: error: pool.checkout_timeout_ms must be an integer, is a string; write 5000"},
      {"[pool]\nmax_uses = 'many'\n", "2:12: error: pool.max_uses must be an integer, is a string"},
      {"[pool]\nmax_uses = '5s'\n", "2:12: error: pool.max_uses must be an integer, is a string"},
      {"[native]\nallow_degraded = 'Yes'\n",
       "2:18: error: native.allow_degraded must be true or false, is a string; write true"},
      {"[native]\nallow_degraded = 0\n",
       "2:18: error: native.allow_degraded must be true or false, is an integer; write false"},
  });
}

TEST_CASE("C9: names of blueprints that are nothing alike are not suggested") {
  CHECK(complaint(in_blueprint("[[tool]]\nname = 't'\nfile = 't.py'\nblueprints = ['b']")) ==
        "6:15: error: tool[0].blueprints[0] names the unknown blueprint \"b\"; there is \"a\"");
}

TEST_CASE("B1: names that no image can have are refused before an engine refuses them") {
  for (const char* bad : {"a.", "a-", "a..b", "a.-b", "a___b", "a_", "a._b"}) {
    INFO(bad);
    CHECK(complaint("[[blueprint]]\nname = '" + std::string(bad) + "'\n").find("as images") !=
          std::string::npos);
  }
  for (const char* good : {"a", "a.b", "a--b", "a__b", "a-b_c.d", "0"}) {
    INFO(good);
    CHECK(complaint("[[blueprint]]\nname = '" + std::string(good) + "'\n") == "none");
  }
  for (const char* bad : {"a._", "a..", "/a", "a//", "-a", "A"}) {
    INFO(bad);
    CHECK(complaint("[docker]\nimage_prefix = '" + std::string(bad) + "'\n").find("not two of") !=
          std::string::npos);
  }
  for (const char* good : {"a-", "a", "team/a-", "a__", "a.b/"}) {
    INFO(good);
    CHECK(complaint("[docker]\nimage_prefix = '" + std::string(good) + "'\n") == "none");
  }
}
