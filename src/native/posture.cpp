#include "native/posture.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace hearth::native {
namespace {

constexpr std::array namespace_names = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
constexpr std::array capability_sets = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

// Words of a line that blanks separate.
std::string_view word_at(std::string_view line, int number) {
  for (int i = 0; i < number; ++i)
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  return line.substr(0, line.find(' '));
}

std::string field(const ObservedProcess& observed, const std::string& name) {
  const auto found = observed.status.find(name);
  return found == observed.status.end() ? "(absent)" : found->second;
}

class Comparison {
 public:
  explicit Comparison(const ObservedProcess& observed) : observed_(observed) {}

  void expect(const std::string& what, const std::string& is, const std::string& should_be) {
    if (is != should_be) note(what + " is " + is + ", not " + should_be);
  }
  void note(const std::string& what) {
    found_.push_back("process " + std::to_string(observed_.pid) + ": " + what);
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  const ObservedProcess& observed_;
  std::vector<std::string> found_;
};

std::string four_times(unsigned id) {
  const std::string one = std::to_string(id);
  return one + '\t' + one + '\t' + one + '\t' + one;
}

void compare_identity(Comparison& comparison, const ObservedProcess& observed,
                      const ExpectedPosture& expected) {
  comparison.expect("Uid", field(observed, "Uid"), four_times(expected.uid));
  comparison.expect("Gid", field(observed, "Gid"), four_times(expected.gid));
  if (expected.no_groups) comparison.expect("Groups", field(observed, "Groups"), "");
  for (const std::string set : capability_sets)
    comparison.expect(set, field(observed, set), "0000000000000000");
  comparison.expect("NoNewPrivs", field(observed, "NoNewPrivs"), "1");
  comparison.expect("Seccomp", field(observed, "Seccomp"), "2");
  if (std::atoi(field(observed, "Seccomp_filters").c_str()) < expected.seccomp_filters)
    comparison.note("Seccomp_filters is " + field(observed, "Seccomp_filters") + ", less than " +
                    std::to_string(expected.seccomp_filters));
}

void compare_surroundings(Comparison& comparison, const ObservedProcess& observed,
                          const ExpectedPosture& expected) {
  for (const std::string name : namespace_names) {
    const auto ours = expected.our_namespaces.find(name);
    const auto theirs = observed.namespaces.find(name);
    if (theirs == observed.namespaces.end() || ours == expected.our_namespaces.end() ||
        theirs->second == ours->second)
      comparison.note("it is not in a " + name + " namespace of its own");
  }
  for (const std::string& controller : expected.controllers) {
    const auto group = observed.cgroups.find(controller);
    if (group == observed.cgroups.end() || !group->second.ends_with('/' + expected.cgroup))
      comparison.note("it is not in its cgroup" + (controller.empty() ? "" : " of " + controller));
  }
  const auto limit = [&](const std::string& name) {
    const auto found = observed.limits.find(name);
    return found == observed.limits.end() ? std::string("(absent)") : found->second;
  };
  const std::string cores = limit("Max core file size");
  if (!cores.starts_with("1 ") && !cores.starts_with("0 ")) comparison.note("it may write cores");
  constexpr long most_files = 4096;  // init's; a worker has a quarter of that
  const long files = std::atol(limit("Max open files").c_str());
  if (files <= 0 || files > most_files) comparison.note("its open files are not limited");
}

// Sockets, pipes and what it opened in its own /proc and /dev; no file or directory of ours.
bool is_harmless(const std::string& target) {
  for (const char* prefix : {"socket:[", "pipe:[", "anon_inode:", "/dev/null", "/proc/"})
    if (target.starts_with(prefix)) return true;
  return false;
}

void compare_files(Comparison& comparison, const ObservedProcess& observed) {
  for (const std::string& target : observed.descriptors)
    if (!is_harmless(target)) comparison.note("it holds " + target);
}

void compare_mounts(Comparison& comparison, std::string_view mountinfo) {
  bool root_is_read_only = false;
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    // id parent device root point options ... - type source options
    const std::string_view point = word_at(line, 4);
    const std::string_view options = word_at(line, 5);
    if (point == "/") root_is_read_only = options == "ro" || options.starts_with("ro,");
    const std::string_view type = line.substr(std::min(line.find(" - ") + 3, line.size()));
    if (type.starts_with("sysfs") || type.starts_with("cgroup"))
      comparison.note("the file system at " + std::string(point) + " is " + std::string(type));
  }
  if (!root_is_read_only) comparison.note("its root is not read-only");
}

}  // namespace

Differences differences(const ObservedProcess& observed, const ExpectedPosture& expected) {
  Comparison comparison(observed);
  compare_identity(comparison, observed, expected);
  compare_surroundings(comparison, observed, expected);
  compare_files(comparison, observed);
  if (observed.mountinfo) compare_mounts(comparison, *observed.mountinfo);
  return comparison.take();
}

namespace {

// The seccomp filter is installed last. A child that has it was forked after all other restrictions
// and inherited them; only its open descriptors may differ, as its parent has closed some since. A
// worker that enters from outside gets the filter on the way, and is checked completely before it
// forks.
bool inherited_all(const ObservedProcess& child, const ObservedProcess& init) {
  const std::string filters = field(child, "Seccomp_filters");
  return filters != "(absent)" && filters == field(init, "Seccomp_filters");
}

Differences differences_in_identity(const ObservedProcess& observed,
                                    const ExpectedPosture& expected) {
  Comparison comparison(observed);
  compare_identity(comparison, observed, expected);
  compare_files(comparison, observed);
  return comparison.take();
}

// All see the same mounts if they are in the same namespaces, and that is cheaper to compare.
Differences differences_of_member(pid_t pid, const ObservedProcess& init,
                                  const ExpectedPosture& expected) {
  const ObservedProcess member = observe_process(pid, Look::surroundings);
  Differences found = differences(member, expected);
  if (member.namespaces != init.namespaces)
    found.push_back("process " + std::to_string(pid) + ": it is in other namespaces than init");
  return found;
}

Differences differences_of_child(pid_t pid, const ObservedProcess& init,
                                 const ExpectedPosture& expected) {
  const ObservedProcess child = observe_process(pid, Look::identity);
  return inherited_all(child, init) ? differences_in_identity(child, expected)
                                    : differences_of_member(pid, init, expected);
}

}  // namespace

Differences differences_of_sandbox(pid_t first, const ExpectedPosture& expected) {
  const ObservedProcess init = observe_process(first);
  Differences found = differences(init, expected);
  for (const pid_t pid : children_of(first))
    for (std::string& one : differences_of_child(pid, init, expected))
      found.push_back(std::move(one));
  return found;
}

Differences differences_of_newcomer(pid_t pid, pid_t first, const ExpectedPosture& expected) {
  return differences_of_member(pid, observe_process(first, Look::surroundings), expected);
}

}  // namespace hearth::native
