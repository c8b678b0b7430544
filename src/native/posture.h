// native/posture.h: what the kernel says a sandbox is, compared with what was asked for. A sandbox
// that differs is never used.
#pragma once

#include "native/observed_process.h"

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace hearth::native {

struct ExpectedPosture {
  uid_t uid = 0;
  gid_t gid = 0;
  // The zygote's and its own.
  int seccomp_filters = 2;
  bool no_groups = true;                                // an ordinary user cannot leave its own
  std::map<std::string, std::string> our_namespaces{};  // none of which it may be in
  // What its groups end with, for each of these controllers.
  std::string cgroup{};
  std::vector<std::string> controllers{};
};

// All there are, in words.
using Differences = std::vector<std::string>;
Differences differences(const ObservedProcess& observed, const ExpectedPosture& expected);

// The first process and all that it has, read and compared.
Differences differences_of_sandbox(pid_t first, const ExpectedPosture& expected);
// One that has just come into the sandbox of `first`.
Differences differences_of_newcomer(pid_t pid, pid_t first, const ExpectedPosture& expected);

}  // namespace hearth::native
