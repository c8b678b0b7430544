#include "native/machine_facts.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace hearth::native;
using State = Finding::State;

namespace {

MachineFacts good_machine() {
  MachineFacts facts;
  facts.users = {.uid = 0,
                 .host_root = 0,
                 .may_mount = true,
                 .may_set_ids = true,
                 .uids = {{0, 0xffffffff}},
                 .gids = {{0, 0xffffffff}}};
  facts.kernel = "6.1.0-18-amd64";
  for (const char* name : {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"})
    facts.namespaces[name] = true;
  facts.max_user_namespaces = 1000;
  facts.cgroups.version = CgroupMounts::Version::v2;
  facts.landlock_version = 2;
  facts.seccomp_filters = true;
  return facts;
}

UserFacts ordinary_user() {
  UserFacts facts = good_machine().users;
  facts.uid = 1000;
  facts.may_mount = facts.may_set_ids = false;
  return facts;
}

Finding about(const std::string& what, const MachineFacts& facts) {
  for (const Finding& finding : findings_of(facts))
    if (finding.what == what) return finding;
  FAIL("nothing is said about " << what);
  return {};
}

}  // namespace

TEST_CASE("on a good machine nothing is missing") {
  for (const Finding& finding : findings_of(good_machine())) {
    CAPTURE(finding.what);
    CHECK(finding.state == State::good);
  }
}

TEST_CASE("whatever is missing comes with its consequence and a remedy") {
  MachineFacts facts = good_machine();
  facts.users = ordinary_user();
  facts.kernel = "5.10.0";
  facts.namespaces["net"] = false;
  facts.apparmor_restricts_userns = 1;
  facts.cgroup_problem = "no right";
  facts.limits_sockets = false;
  facts.has_swap = true;
  facts.limits_swap = false;
  facts.disk_limit_problem = "no controller";
  facts.landlock_version = 1;
  facts.seccomp_filters = false;
  int bad = 0;
  for (const Finding& finding : findings_of(facts)) {
    if (finding.state == State::good) continue;
    ++bad;
    CAPTURE(finding.what);
    CHECK(!finding.consequence.empty());
    CHECK(!finding.remedy.empty());
  }
  CHECK(bad == 10);
}

TEST_CASE("how much memory of sockets no cgroup counts is said in megabytes") {
  MachineFacts facts = good_machine();
  facts.tcp_bytes = std::uint64_t{300} << 20;
  facts.udp_bytes = std::uint64_t{500} << 20;
  CHECK(about("socket buffers", facts).found.find("300 MB") != std::string::npos);
  facts.limits_sockets = false;
  CHECK(about("socket buffers", facts).consequence.find("300 MB (TCP) and 500 MB (UDP)") !=
        std::string::npos);
}

TEST_CASE("C27: doctor says where what sandboxes hold may be swapped out") {
  MachineFacts facts = good_machine();
  CHECK(about("swap", facts).found == "none");
  facts.has_swap = true;
  CHECK(about("swap", facts).found == "limited");
  facts.limits_swap = false;
  CHECK(about("swap", facts).state == State::weak);
  facts.has_swap = false;
  CHECK(about("swap", facts).state == State::good);
}

TEST_CASE("an ordinary user is told of its groups, which its sandboxes have") {
  MachineFacts facts = good_machine();
  facts.groups = 3;
  CHECK(about("users", facts).state == State::good);  // root leaves them
  facts.users = ordinary_user();
  CHECK(about("users", facts).consequence.find("your 3 supplementary groups") != std::string::npos);
  facts.groups = 0;
  CHECK(about("users", facts).consequence.find("groups") == std::string::npos);
}

TEST_CASE("the remedy fits the machine") {
  MachineFacts facts = good_machine();
  facts.cgroup_problem = "no right";
  CHECK(about("cgroups", facts).remedy == "systemd-run --scope -p Delegate=yes hearth ...");
  CHECK(about("cgroups", facts).state == State::weak);  // scripts run, with degraded limits
  facts.users = ordinary_user();
  CHECK(about("cgroups", facts).remedy == "systemd-run --user --scope -p Delegate=yes hearth ...");
  facts.unprivileged_userns_clone = 0;
  CHECK(about("user namespaces", facts).remedy == "sysctl -w kernel.unprivileged_userns_clone=1");
  facts.users = good_machine().users;
  CHECK(about("user namespaces", facts).state == State::good);
}

TEST_CASE("an ordinary user with cgroups of version 1 gets commands to copy") {
  MachineFacts facts = good_machine();
  facts.users = ordinary_user();
  facts.cgroup_problem = "no right";
  facts.cgroups.version = CgroupMounts::Version::v1;
  facts.cgroups.memory = "/c/memory";
  facts.cgroups.pids = "/c/pids";
  facts.cgroups.cpu = "/c/cpu,cpuacct/own";
  CHECK(about("cgroups", facts).remedy ==
        "as root, once:\n"
        "  mkdir /c/memory/hearth /c/pids/hearth /c/cpu,cpuacct/own/hearth\n"
        "  chown -R 1000 /c/memory/hearth /c/pids/hearth /c/cpu,cpuacct/own/hearth\n"
        "then, in the shell that starts hearth:\n"
        "  for group in /c/memory/hearth /c/pids/hearth /c/cpu,cpuacct/own/hearth; "
        "do echo $$ > $group/cgroup.procs; done");
}

TEST_CASE("doctor says which users sandboxes get, and when they get none") {
  MachineFacts facts = good_machine();
  CHECK(about("users", facts).found == "each sandbox has a user of its own, with CAP_SYS_ADMIN");
  facts.users.may_mount = false;
  CHECK(about("users", facts).found ==
        "each sandbox has a user of its own, by a user namespace, without CAP_SYS_ADMIN");
  CHECK(about("users", facts).state == State::good);
  facts.users.may_set_ids = false;
  CHECK(about("users", facts).state == State::missing);
  CHECK(about("users", facts).remedy.find("--cap-add SETUID") != std::string::npos);
  facts.users = ordinary_user();
  CHECK(about("users", facts).state == State::weak);
}

TEST_CASE("in a container the remedies are the engine's flags") {
  MachineFacts facts = good_machine();
  facts.in_container = true;
  facts.user_namespace_problem = "Operation not permitted";
  facts.cgroup_problem = "Read-only file system";
  CHECK(about("user namespaces", facts).remedy.find("--security-opt seccomp=") !=
        std::string::npos);
  CHECK(about("cgroups", facts).remedy.find("--cgroupns host -v /sys/fs/cgroup/hearth") !=
        std::string::npos);
  facts.cgroups.version = CgroupMounts::Version::v1;
  CHECK(about("cgroups", facts).remedy.find("-v /sys/fs/cgroup/memory/hearth") !=
        std::string::npos);
}
