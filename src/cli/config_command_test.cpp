#include "cli/config_command.h"

#include "blueprint/json_text.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "runtime/backends.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

using namespace hearth;
using namespace hearth::cli;
namespace fs = std::filesystem;

namespace {

// A folder with a configuration.
class Folder {
 public:
  fs::path write(const std::string& name, const std::string& content) const {
    directory_.write(name, content);
    return directory_.path() / name;
  }

 private:
  test::TemporaryDirectory directory_;
};

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string errors;
};

Outcome run(const ConfigCheck& check, const settings::Env& env = {}) {
  std::ostringstream out;
  std::ostringstream errors;
  const int code = check_config(check, env, out, errors);
  return {code, out.str(), errors.str()};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const char* const small_config = R"([[blueprint]]
name = "default"
[[tool]]
name = "greet"
file = "greet.py"
blueprints = ["default"]
)";

}  // namespace

TEST_CASE("config check says which Python scripts will run in, where this machine has it") {
  const Folder folder;
  const std::regex native(R"(\npython_version = "3[^"]*"  # 3\.\d+\.\S+ \(/.*\)\n)");
  const fs::path file = folder.write("h.toml", "[[blueprint]]\nname = \"default\"\n");
  CHECK(std::regex_search(run({.file = file}).out, native));
  const Outcome json = run({.file = file, .as_json = true});
  CHECK(std::regex_search(json.out, std::regex(R"re("default": "3\.\d+\.\S+ \(/.*\)")re")));
  // That of an image is not on this machine.
  const Outcome docker = run({.file = file, .overrides = {{"pool.backend", "docker"}}});
  CHECK(contains(docker.out, "\npython_version = \"3"));
  CHECK_FALSE(std::regex_search(docker.out, native));
}

TEST_CASE("config check prints the effective configuration with the checksum of each environment") {
  const Folder folder;
  folder.write("greet.py", "def greet(): return 'hello'\n");
  const Outcome outcome = run({.file = folder.write("h.toml", small_config)});
  CHECK(outcome.errors.empty());
  CHECK(outcome.exit_code == exit_code::ok);
  CHECK(contains(outcome.out, "memory_mb = 256\n"));
  const std::size_t at = outcome.out.find("# environment ");
  REQUIRE(at != std::string::npos);
  CHECK(outcome.out.find("\n[[blueprint]]", at) == at + 14 + 64);
}

TEST_CASE("config check names the origin of what was overridden") {
  const Folder folder;
  const Outcome outcome = run({.file = folder.write("h.toml", "[log]\nlevel = 'info'\n"),
                               .overrides = {{"pool.max_overflow", "3"}}},
                              {{"HEARTH_LOG_LEVEL", "error"}});
  CHECK(contains(outcome.out, "level = \"error\"  # from HEARTH_LOG_LEVEL\n"));
  CHECK(contains(outcome.out, "max_overflow = 3  # from --set pool.max_overflow\n"));
}

TEST_CASE("config check prints JSON that holds the same") {
  const Folder folder;
  folder.write("greet.py", "def greet(): return 'hello'\n");
  const Outcome outcome = run({.file = folder.write("h.toml", small_config), .as_json = true},
                              {{"HEARTH_LOG_LEVEL", "error"}});
  REQUIRE(outcome.exit_code == exit_code::ok);
  const boost::json::value tree = blueprint::parse_json(outcome.out);
  CHECK(tree.at("settings").at("blueprint").at(0).at("name").as_string() == "default");
  CHECK(tree.at("overridden").at("log.level").as_string() == "HEARTH_LOG_LEVEL");
  CHECK(tree.at("environments").at("default").as_string().size() == 64);
}

TEST_CASE("config check reports every problem with its place and exits with 2") {
  const Folder folder;
  const auto file = folder.write("h.toml", "[log]\nlevle = 1\n[pool]\nmax_overflow = -1\n");
  const Outcome outcome = run({.file = file});
  CHECK(outcome.exit_code == exit_code::invalid_input);
  CHECK(outcome.out.empty());
  CHECK(outcome.errors ==
        file.string() + ":2:1: error: log.levle is not a known key; did you mean \"level\"?\n" +
            "    2 | levle = 1\n      | ^\n" + file.string() +
            ":4:16: error: pool.max_overflow must be at least 0, is -1\n" +
            "    4 | max_overflow = -1\n      |                ^\n");
  CHECK(contains(run({.file = file, .with_colours = true}).errors, "\x1b[1;31merror: "));
}

TEST_CASE("config check finds tools that are missing or do not compile") {
  const Folder folder;
  const auto broken = folder.write("greet.py", "x = 1\ndef greet(:\n");
  const auto file = folder.write("h.toml", std::string(small_config) +
                                               "[[tool]]\nname = 'gone'\nfile = 'gone.py'\n"
                                               "blueprints = ['default']\n");
  const Outcome outcome = run({.file = file});
  CHECK(outcome.exit_code == exit_code::invalid_input);
  CHECK(contains(outcome.errors, broken.string() +
                                     ":2:11: error: tool \"greet\" does not compile: invalid "
                                     "syntax\n    2 | def greet(:\n      |           ^\n"));
  CHECK(contains(outcome.errors, file.string() + ":9:8: error: tool[1].file cannot read "));
}

TEST_CASE("C9: tools that do not compile are reported with everything else, each once") {
  const Folder folder;
  const auto broken = folder.write("greet.py", "def greet(:\n");
  const auto file = folder.write("h.toml", std::string("[log]\nlevle = 1\n") + small_config +
                                               "[[tool]]\nname = 'gone'\nfile = 'gone.py'\n"
                                               "blueprints = ['default']\n");
  const std::string errors = run({.file = file}).errors;
  CHECK(contains(errors, ":2:1: error: log.levle is not a known key"));
  CHECK(contains(errors, ":11:8: error: tool[1].file cannot read "));
  CHECK(contains(errors, broken.string() + ":1:11: error: tool \"greet\" does not compile"));
  CHECK(contains(errors, "    1 | def greet(:\n"));
  CHECK(std::count(errors.begin(), errors.end(), '^') == 3);
}

TEST_CASE("C1: a file without a blueprint means the plain one, and tools may name it") {
  const Folder folder;
  folder.write("greet.py", "def greet(): return 'hello'\n");
  for (const std::string text : {"", "[log]\nlevel = 'info'\n",
                                 "[[tool]]\nname = 'greet'\nfile = 'greet.py'\n"
                                 "blueprints = ['default']\n"}) {
    INFO(text);
    const Outcome outcome = run({.file = folder.write("h.toml", text)});
    CHECK(outcome.errors.empty());
    CHECK(contains(outcome.out, "[[blueprint]]\nname = \"default\"\n"));
  }
}

TEST_CASE("config check warns of what will fail on this machine, each at its place") {
  const Folder folder;
  const std::string here = folder.write("data.csv", "1\n").string();
  const std::string sandbox = "[[blueprint]]\nname = 'a'\n";
  struct Row {
    std::string text;
    std::string warning;
  };
  const std::vector<Row> rows = {
      {sandbox + "[[blueprint.resources]]\nhost_path = '/no/such'\ncontainer_path = '/data'\n",
       ":4:13: warning: blueprint[0].resources[0].host_path does not exist here\n"},
      {sandbox + "python_version = '3.99'\n",
       ":3:18: warning: blueprint[0].python_version cannot be used: there is no Python 3.99 on "},
      {"[builder]\nfind_links = ['nowhere']\n",
       ":2:15: warning: builder.find_links[0] is no directory: \""},
      {sandbox + "[blueprint.network_policy]\nallowed_hosts = ['example.org']\n",
       ":4:17: warning: blueprint[0].network_policy.allowed_hosts has to be empty when it "
       "runs: there is no way out"},
      {sandbox + "secrets = ['KEY']\n",
       ":3:12: warning: blueprint[0].secrets[0] is to come from the environment variable KEY, "},
      {sandbox + "secrets = ['KEY']\n[secrets]\nKEY = { env = 'OTHER' }\n",
       ":5:15: warning: secrets.KEY.env is to come from the environment variable OTHER, "},
      {sandbox + "secrets = ['KEY']\n[secrets]\nKEY = { file = '/no/such' }\n",
       ":5:16: warning: secrets.KEY.file does not exist here"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const Outcome outcome = run({.file = folder.write("h.toml", row.text)});
    INFO(outcome.errors);
    CHECK(outcome.exit_code == exit_code::ok);
    CHECK(contains(outcome.errors, row.warning));
    CHECK_FALSE(contains(outcome.errors, " error: "));
  }
  const std::string good = sandbox + "secrets = ['KEY']\n[[blueprint.resources]]\nhost_path = '" +
                           here + "'\ncontainer_path = '/data'\n";
  fs::permissions(here, fs::perms(0644));
  const fs::path file = folder.write("h.toml", good);
  CHECK_FALSE(contains(run({.file = file}, {{"KEY", "x"}}).errors, "host_path"));
  CHECK_FALSE(contains(run({.file = file}, {{"KEY", "x"}}).errors, "KEY"));
}

TEST_CASE("config check warns of a preloaded module that no package can bring") {
  const Folder folder;
  const std::string plain = runtime::plain_blueprint().python_version;
  const std::string head = "[[blueprint]]\nname = 'a'\npython_version = '" + plain + "'\n";
  const auto errors_of = [&](const std::string& lines) {
    return run({.file = folder.write("h.toml", head + lines)}).errors;
  };
  CHECK(contains(errors_of("preload = ['json', 'no_such.part']\n"),
                 ":4:20: warning: blueprint[0].preload[1] is not installed for "));
  CHECK(errors_of("preload = ['json', 'email.mime', 'sys']\n").empty());
  CHECK(errors_of("preload = ['no_such']\ndependencies = ['other']\n").empty());
}

TEST_CASE("config check prints the state directory that is used") {
  const Folder folder;
  const Outcome outcome =
      run({.file = folder.write("h.toml", "")}, {{"XDG_STATE_HOME", "/home/me/state"}});
  const char* const used = ::geteuid() == 0 ? "/var/lib/hearth" : "/home/me/state/hearth";
  CHECK(contains(outcome.out, std::string("dir = \"") + used + "\"\n"));
}

TEST_CASE("config check says when there is nothing to check") {
  const Outcome outcome = run({.file = "/no/such/hearth.toml"});
  CHECK(outcome.exit_code == exit_code::invalid_input);
  CHECK(contains(outcome.errors, "hearth: read /no/such/hearth.toml: No such file"));
}

TEST_CASE("C26: config check shows no secret, valid or not") {
  const Folder folder;
  const settings::Env environment = {{"SOURCE", "hunter2"}};
  const Outcome good =
      run({.file = folder.write("a.toml", "[secrets]\nKEY = { env = 'SOURCE' }\n")}, environment);
  CHECK(contains(good.out, "KEY = { env = \"SOURCE\" }\n"));
  CHECK_FALSE(contains(good.out, "hunter2"));
  const Outcome bad = run({.file = folder.write("b.toml", "[secrets]\nKEY = 'hunter2'\n")});
  CHECK(bad.exit_code == exit_code::invalid_input);
  CHECK_FALSE(contains(bad.errors, "hunter2"));
}

TEST_CASE("colours are for terminals, and never with NO_COLOR") {
  CHECK_FALSE(wants_colours(-1, {}));
  const int terminal = ::posix_openpt(0);
  if (terminal < 0) return;  // no pseudo terminals on this machine
  CHECK(wants_colours(terminal, {}));
  CHECK(wants_colours(terminal, {{"NO_COLOR", ""}}));
  CHECK_FALSE(wants_colours(terminal, {{"NO_COLOR", "1"}}));
  CHECK_FALSE(wants_colours(terminal, {{"TERM", "dumb"}}));
  ::close(terminal);
}

TEST_CASE("config check names a backend there is not, at its place") {
  const Folder folder;
  const fs::path file = folder.write("hearth.toml", "[pool]\nbackend = \"dokcer\"\n");
  const Outcome outcome = run({.file = file});
  CHECK(outcome.exit_code == exit_code::invalid_input);
  CHECK(contains(outcome.errors,
                 ":2:11: error: pool.backend must be one of native, docker, is \"dokcer\"; did you "
                 "mean \"docker\"?"));
}
