#include "native/launch_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
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
