#include "native/posture.h"

#include <doctest/doctest.h>

#include <unistd.h>

using namespace hearth::native;

namespace {

const ExpectedPosture expected{.uid = 70000,
                               .gid = 70001,
                               .our_namespaces = {{"user", "user:[1]"},
                                                  {"pid", "pid:[1]"},
                                                  {"mnt", "mnt:[1]"},
                                                  {"net", "net:[1]"},
                                                  {"ipc", "ipc:[1]"},
                                                  {"uts", "uts:[1]"},
                                                  {"cgroup", "cgroup:[1]"}},
                               .cgroup = "hearth-1/abc",
                               .controllers = {"memory", "pids"}};

ObservedProcess as_it_should_be() {
  ObservedProcess process;
  process.pid = 7;
  process.status = {{"Uid", "70000\t70000\t70000\t70000"},
                    {"Gid", "70001\t70001\t70001\t70001"},
                    {"Groups", ""},
                    {"NoNewPrivs", "1"},
                    {"Seccomp", "2"},
                    {"Seccomp_filters", "2"}};
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    process.status[set] = "0000000000000000";
  for (const char* name : {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"})
    process.namespaces[name] = std::string(name) + ":[2]";
  process.limits = {{"Max core file size", "1                    1                    bytes"},
                    {"Max open files", "1024                 1024                 files"}};
  process.cgroups = {{"memory", "/own/hearth-1/abc"}, {"pids", "/hearth-1/abc"}, {"devices", "/"}};
  process.descriptors = {"socket:[5]", "pipe:[6]", "/dev/null", "/proc/1/task/1/children"};
  process.mountinfo = "1 2 0:1 / / ro,nosuid - tmpfs tmpfs rw\n3 1 0:2 / /proc rw - proc proc rw\n";
  return process;
}

// The one difference, without the process it is about.
std::string difference(const ObservedProcess& process) {
  const std::vector<std::string> found = differences(process, expected);
  REQUIRE(found.size() == 1);
  return found.front().substr(std::string("process 7: ").size());
}

}  // namespace

TEST_CASE("a sandbox as it should be differs in nothing") {
  CHECK(differences(as_it_should_be(), expected).empty());
}

TEST_CASE("each promise that is not kept is named") {
  ObservedProcess process = as_it_should_be();
  process.status["Uid"] = "0\t0\t0\t0";
  CHECK(difference(process).starts_with("Uid is 0"));
  process = as_it_should_be();
  process.status["Seccomp_filters"] = "1";
  CHECK(difference(process) == "Seccomp_filters is 1, less than 2");
  process = as_it_should_be();
  process.status["Groups"] = "27";
  CHECK(difference(process) == "Groups is 27, not ");
  process = as_it_should_be();
  process.status["CapBnd"] = "0000000000000400";
  CHECK(difference(process).starts_with("CapBnd is 0000000000000400"));
  process = as_it_should_be();
  process.status.erase("Seccomp");
  CHECK(difference(process) == "Seccomp is (absent), not 2");
  process = as_it_should_be();
  process.status["NoNewPrivs"] = "0";
  CHECK(difference(process) == "NoNewPrivs is 0, not 1");
  process = as_it_should_be();
  process.namespaces["net"] = "net:[1]";
  CHECK(difference(process) == "it is not in a net namespace of its own");
  process = as_it_should_be();
  process.cgroups["pids"] = "/hearth-1/other";
  CHECK(difference(process) == "it is not in its cgroup of pids");
  process = as_it_should_be();
  process.cgroups.erase("memory");
  CHECK(difference(process) == "it is not in its cgroup of memory");
  process = as_it_should_be();
  process.descriptors.emplace_back("/etc");
  CHECK(difference(process) == "it holds /etc");
  process = as_it_should_be();
  process.limits["Max core file size"] = "unlimited            unlimited            bytes";
  CHECK(difference(process) == "it may write cores");
  for (const char* many : {"4097 4097 files", "unlimited unlimited files"}) {
    process = as_it_should_be();
    process.limits["Max open files"] = many;
    CHECK(difference(process) == "its open files are not limited");
  }
  process = as_it_should_be();
  process.mountinfo = "1 2 0:1 / / rw,nosuid - tmpfs tmpfs rw\n";
  CHECK(difference(process) == "its root is not read-only");
  process = as_it_should_be();
  *process.mountinfo += "4 1 0:3 / /sys ro - sysfs sysfs rw\n";
  CHECK(difference(process).starts_with("the file system at /sys is sysfs"));
}

TEST_CASE("an ordinary process of this machine is no sandbox") {
  CHECK(differences(observe_process(::getpid()), expected).size() > 5);
}
