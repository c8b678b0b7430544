#include "native/launch_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace hearth;
using namespace hearth::native;

namespace {

const backend::Programs programs{"/p/hearth-launcher", "/p/hearth-init", "/p/libhearth-isolate.so",
                                 "/p/executor_harness"};

Machine merged_usr() {
  Machine machine;
  machine.exists = [](const std::string& path) {
    return std::set<std::string>{"/bin", "/lib", "/etc/ld.so.cache", "/opt/py/lib/python3.13/os.py"}
        .contains(path);
  };
  machine.link_target = [](const std::string& path) -> std::optional<std::string> {
    if (path == "/bin") return "usr/bin";
    return std::nullopt;
  };
  return machine;
}

bool has(const LaunchPlan& plan, const std::vector<std::string>& words) {
  return std::search(plan.arguments.begin(), plan.arguments.end(), words.begin(), words.end()) !=
         plan.arguments.end();
}

// What is executed, from the interpreter on.
std::vector<std::string> command_of(const LaunchPlan& plan) {
  const auto dashes = std::find(plan.arguments.begin(), plan.arguments.end(), "--");
  return {dashes + 1, plan.arguments.end()};
}

}  // namespace

TEST_CASE(
    "a zygote sees the system as the machine has it: links as links, directories as directories") {
  const LaunchPlan plan = launch_plan(
      {.python = "/usr/bin/python3.11", .packages = {}, .tools = {}}, programs, {}, merged_usr());
  CHECK(has(plan, {"--ro-bind", "/usr", "/usr"}));
  CHECK(has(plan, {"--symlink", "usr/bin", "/bin"}));
  CHECK(has(plan, {"--ro-bind", "/lib", "/lib"}));
  CHECK(has(plan, {"--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache"}));
  CHECK_FALSE(has(plan, {"/etc/timezone"}));
  CHECK_FALSE(has(plan, {"--uids"}));
}

TEST_CASE("nothing of the machine's users or network is shown") {
  const LaunchPlan plan = launch_plan(
      {.python = "/usr/bin/python3.11", .packages = {}, .tools = {}}, programs, {}, this_machine());
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/etc/resolv.conf", "/etc/hosts", "/root",
                           "/home", "/var", "/run", "/sys"})
    CHECK_FALSE(has(plan, {"--ro-bind", path}));
}

TEST_CASE("an interpreter outside /usr comes with its installation") {
  const LaunchPlan plan =
      launch_plan({.python = "/opt/py/bin/python3.13", .packages = {}, .tools = {}}, programs, {},
                  merged_usr());
  CHECK(has(plan, {"--ro-bind", "/opt/py", "/opt/py"}));
  CHECK(command_of(plan).front() == "/opt/py/bin/python3.13");
}

TEST_CASE("an interpreter in a home's bin directory does not show the home") {
  const LaunchPlan plan =
      launch_plan({.python = "/home/ann/bin/python3.13", .packages = {}, .tools = {}}, programs, {},
                  merged_usr());
  CHECK(has(plan, {"--ro-bind", "/home/ann/bin/python3.13", "/home/ann/bin/python3.13"}));
  CHECK_FALSE(has(plan, {"--ro-bind", "/home/ann", "/home/ann"}));
}

TEST_CASE("packages, tools, preloaded modules and files reach the harness") {
  ZygoteContent content{
      .python = "/usr/bin/python3.11", .packages = "/e/packages", .tools = "/e/tools"};
  content.preload = {"json", "pandas"};
  content.mounts = {{.source = "/data", .target = "/in", .read_only = true},
                    {.source = "/out", .target = "/out", .read_only = false}};
  const LaunchPlan plan = launch_plan(content, programs, UidRange{70000, 1000}, merged_usr());
  CHECK(has(plan, {"--uids", "70000", "1000"}));
  CHECK(has(plan, {"--ro-bind", "/e/packages", "/packages"}));
  CHECK(has(plan, {"--ro-bind", "/e/tools", "/tools"}));
  CHECK(has(plan, {"--ro-mount", "/data", "/in"}));
  CHECK(has(plan, {"--mount", "/out", "/out"}));
  CHECK(command_of(plan) == std::vector<std::string>{"/usr/bin/python3.11", "-s", "-B",
                                                     "/hearth/executor_harness", "--zygote", "yes",
                                                     "--path", "/packages", "--preload", "json",
                                                     "--preload", "pandas", "--writable", "/out"});
}

namespace {

Machine machine_with(std::set<std::string> files, std::map<std::string, std::string> links) {
  Machine machine;
  machine.exists = [files](const std::string& path) { return files.contains(path); };
  machine.link_target = [links](const std::string& path) -> std::optional<std::string> {
    const auto found = links.find(path);
    return found == links.end() ? std::nullopt : std::optional(found->second);
  };
  machine.content_of = [](const std::string& path) {
    return path == "/home/ann/env/pyvenv.cfg" ? "home = /home/ann/py/bin\nversion = 3.13.1\n" : "";
  };
  machine.home = "/home/ann";
  return machine;
}

}  // namespace

TEST_CASE("a virtual environment comes with what it was made of, and with nothing beside it") {
  const LaunchPlan plan = launch_plan(
      {.python = "/home/ann/env/bin/python3", .packages = {}, .tools = {}}, programs, {},
      machine_with({"/home/ann/env/pyvenv.cfg", "/home/ann/env/bin", "/home/ann/env/lib",
                    "/home/ann/py/lib/python3.13/os.py", "/opt/other/lib/python3.13/os.py"},
                   {{"/home/ann/env/bin/python3", "python3.13"},
                    {"/home/ann/env/bin/python3.13", "/opt/other/bin/python3.13"}}));
  for (const char* shown : {"/home/ann/env/bin", "/home/ann/env/lib", "/home/ann/env/pyvenv.cfg",
                            "/home/ann/py", "/opt/other"})
    CHECK(has(plan, {"--ro-bind", shown, shown}));
  for (const char* hidden : {"/home/ann", "/home/ann/env"})
    CHECK_FALSE(has(plan, {"--ro-bind", hidden}));
  CHECK(has(plan, {"--setenv", "PATH", "/home/ann/env/bin:/usr/local/bin:/usr/bin:/bin"}));
  CHECK(command_of(plan).front() == "/home/ann/env/bin/python3");
}

TEST_CASE("a virtual environment that was made by /bin/python3 mounts nothing over the link /bin") {
  const LaunchPlan plan = launch_plan(
      {.python = "/srv/env/bin/python3", .packages = {}, .tools = {}}, programs, {},
      machine_with({"/srv/env/pyvenv.cfg", "/srv/env/bin", "/lib/python3.11/os.py", "/bin/python3"},
                   {{"/srv/env/bin/python3", "/bin/python3"}, {"/bin", "usr/bin"}}));
  CHECK(has(plan, {"--ro-bind", "/srv/env/bin"}));
  CHECK_FALSE(has(plan, {"--ro-bind", "/bin/python3"}));
}

TEST_CASE("of a Python that was installed into a home, only the Python is shown") {
  for (const std::string home : {"/home/ann", "/home/ann/.local", "/root", "/home/bob"}) {
    CAPTURE(home);
    const LaunchPlan plan = launch_plan(
        {.python = home + "/bin/python3.13", .packages = {}, .tools = {}}, programs, {},
        machine_with(
            {home + "/bin/python3.13", home + "/lib/python3.13", home + "/lib/python3.13/os.py"},
            {}));
    CHECK(has(plan, {"--ro-bind", home + "/bin/python3.13"}));
    CHECK(has(plan, {"--ro-bind", home + "/lib/python3.13"}));
    for (const std::string& hidden : {home, home + "/bin", home + "/lib"})
      CHECK_FALSE(has(plan, {"--ro-bind", hidden}));
  }
}

TEST_CASE("the script's Python is also `python3` and `python` of the processes that it starts") {
  const LaunchPlan plan = launch_plan(
      {.python = "/usr/bin/python3.11", .packages = {}, .tools = {}}, programs, {}, merged_usr());
  for (const char* name : {"/hearth/bin/python3", "/hearth/bin/python"})
    CHECK(has(plan, {"--symlink", "/usr/bin/python3.11", name}));
  CHECK(has(plan, {"--setenv", "PATH", "/hearth/bin:/usr/local/bin:/usr/bin:/bin"}));
}
