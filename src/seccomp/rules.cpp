#include "seccomp/rules.h"

#include "seccomp/system_calls.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/memfd.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace hearth::seccomp {
namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};
constexpr std::uint64_t low_half = 0xffffffff;
constexpr std::uint64_t type_of_socket = 0xf;
// CLONE_NEWNS, NEWTIME, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
constexpr std::uint64_t any_new_namespace = 0x7e020080;
constexpr std::uint64_t set_id_bits = S_ISUID | S_ISGID;
// __O_TMPFILE, the part of O_TMPFILE that is not O_DIRECTORY
constexpr std::uint64_t unnamed_file = O_TMPFILE & ~O_DIRECTORY;
constexpr std::uint64_t maker_of_user_namespace =
    CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER | SIGCHLD;

// The kernel looks at the lower half of an `int`.
Condition is(unsigned argument, std::uint64_t value) { return {argument, low_half, value}; }
Condition has_none(unsigned argument, std::uint64_t bits) { return {argument, bits, 0}; }
Condition has(unsigned argument, std::uint64_t bits) { return {argument, bits, bits}; }

// All 64 bits: these two are each other's opposite, whatever the kernel looks at.
Condition equals(unsigned argument, std::uint64_t value) { return {argument, all_bits, value}; }
Condition differs(unsigned argument, std::uint64_t value) {
  return {argument, all_bits, value, true};
}

// Init runs as the script's user. So scheduling, priority and limits can be set only for the caller
// itself, which is 0; they can be read for every process.
void add_process_settings(std::vector<Rule>& rules) {
  for (const char* call : scheduling_calls) {
    rules.push_back({call, Action::allow, {equals(0, 0)}});
    rules.push_back({call, Action::refuse, {differs(0, 0)}});
  }
  struct Priority {
    const char* call;
    std::uint64_t of_process;  // not of a group or a user
  };
  for (const Priority& one :
       {Priority{"setpriority", PRIO_PROCESS}, Priority{"ioprio_set", IOPRIO_WHO_PROCESS}}) {
    rules.push_back({one.call, Action::allow, {equals(0, one.of_process), equals(1, 0)}});
    rules.push_back({one.call, Action::refuse, {equals(0, one.of_process), differs(1, 0)}});
    rules.push_back({one.call, Action::refuse, {differs(0, one.of_process)}});
  }
  rules.push_back({"prlimit64", Action::allow, {equals(0, 0)}});
  rules.push_back({"prlimit64", Action::allow, {differs(0, 0), equals(2, 0)}});
  rules.push_back({"prlimit64", Action::refuse, {differs(0, 0), differs(2, 0)}});
}

// Huge pages come from a pool that no memory cgroup counts.
void add_huge_pages(std::vector<Rule>& rules) {
  struct Flag {
    const char* call;
    unsigned argument;
    std::uint64_t bit;
  };
  for (const Flag& flag : {Flag{"mmap", 3, MAP_HUGETLB}, Flag{"memfd_create", 1, MFD_HUGETLB},
                           Flag{"shmget", 2, SHM_HUGETLB}}) {
    rules.push_back({flag.call, Action::allow, {has_none(flag.argument, flag.bit)}});
    rules.push_back({flag.call, Action::refuse, {has(flag.argument, flag.bit)}});
  }
}

// A file in a writable mount keeps its mode outside, where a set-uid bit would give away the rights
// of its owner. Directories need no rule: mkdir ignores these bits.
void add_modes(std::vector<Rule>& rules) {
  struct Mode {
    const char* call;
    unsigned argument;
  };
  for (const Mode& mode : {Mode{"chmod", 1}, Mode{"fchmod", 1}, Mode{"fchmodat", 2},
                           Mode{"fchmodat2", 2}, Mode{"creat", 1}}) {
    rules.push_back({mode.call, Action::allow, {has_none(mode.argument, set_id_bits)}});
    for (const std::uint64_t bit : {std::uint64_t{S_ISUID}, std::uint64_t{S_ISGID}})
      rules.push_back({mode.call, Action::refuse, {has(mode.argument, bit)}});
  }
}

// Without O_CREAT or O_TMPFILE the mode is whatever the caller left in its register.
void add_opens(std::vector<Rule>& rules) {
  struct Open {
    const char* call;
    unsigned flags;
  };
  for (const Open& open : {Open{"open", 1}, Open{"openat", 2}}) {
    const unsigned mode = open.flags + 1;
    rules.push_back({open.call, Action::allow, {has_none(open.flags, O_CREAT | unnamed_file)}});
    rules.push_back({open.call, Action::allow, {has_none(mode, set_id_bits)}});
    for (const std::uint64_t makes_file : {std::uint64_t{O_CREAT}, unnamed_file})
      for (const std::uint64_t bit : {std::uint64_t{S_ISUID}, std::uint64_t{S_ISGID}})
        rules.push_back({open.call, Action::refuse, {has(open.flags, makes_file), has(mode, bit)}});
  }
}

void add_sockets(std::vector<Rule>& rules) {
  const auto allow = [&rules](std::vector<Condition> conditions) {
    rules.push_back({"socket", Action::allow, std::move(conditions)});
  };
  allow({is(0, AF_UNIX)});
  struct Kind {
    std::uint64_t type;
    std::uint64_t protocol;
  };
  static_assert(std::has_single_bit(unsigned{AF_INET ^ AF_INET6}));
  const Condition internet{0, low_half & ~std::uint64_t{AF_INET ^ AF_INET6}, AF_INET & AF_INET6};
  for (const Kind kind : {Kind{SOCK_STREAM, 0}, Kind{SOCK_STREAM, IPPROTO_TCP}, Kind{SOCK_DGRAM, 0},
                          Kind{SOCK_DGRAM, IPPROTO_UDP}})
    allow({internet, {1, type_of_socket, kind.type}, is(2, kind.protocol)});
  rules.push_back({"socketpair", Action::allow, {is(0, AF_UNIX)}});
}

// Programs attached to a socket are kernel memory that no cgroup counts.
void add_socket_options(std::vector<Rule>& rules) {
  const auto add = [&rules](Action action, std::vector<Condition> conditions) {
    rules.push_back({"setsockopt", action, std::move(conditions)});
  };
  for (const std::uint64_t level : {IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6})
    add(Action::allow, {is(1, level)});
  for (const std::uint64_t option :
       {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF})
    add(Action::refuse, {is(1, SOL_SOCKET), is(2, option)});
  // The other options of sockets: those of a block differ only in the bits of `within`.
  struct Block {
    std::uint64_t first;
    std::uint64_t within;
  };
  for (const Block block :
       {Block{0, 0x6f}, Block{16, 0x7}, Block{24, 0x1}, Block{28, 0x3}, Block{56, 0x7}})
    add(Action::allow, {is(1, SOL_SOCKET), {2, low_half & ~block.within, block.first}});
}

void add_clone(std::vector<Rule>& rules) {
  rules.push_back({"clone", Action::allow, {{0, any_new_namespace, 0}}});
  for (std::uint64_t bit = 1; bit <= any_new_namespace; bit <<= 1)
    if ((bit & any_new_namespace) != 0) rules.push_back({"clone", Action::refuse, {{0, bit, bit}}});
}

// No set-uid files, and no devices: a whiteout (character device 0:0) may be made by everybody.
void add_nodes(std::vector<Rule>& rules) {
  constexpr std::uint64_t device = S_IFCHR;  // a bit that S_IFBLK has, and no other node
  const auto add = [&rules](Action action, std::uint64_t mask, std::uint64_t value) {
    rules.push_back({"mknod", action, {{1, mask, value}}});
    rules.push_back({"mknodat", action, {{2, mask, value}}});
  };
  add(Action::allow, device | set_id_bits, 0);
  for (const std::uint64_t bit : {device, std::uint64_t{S_ISUID}, std::uint64_t{S_ISGID}})
    add(Action::refuse, bit, bit);
}

}  // namespace

std::vector<Rule> sandbox_rules() {
  std::vector<Rule> rules;
  for (const char* name : allowed_calls) rules.push_back({name, Action::allow});
  for (const char* name : refused_calls) rules.push_back({name, Action::refuse});
  add_process_settings(rules);
  add_huge_pages(rules);
  add_modes(rules);
  add_opens(rules);
  add_sockets(rules);
  add_socket_options(rules);
  add_clone(rules);
  add_nodes(rules);
  for (const std::uint64_t option : prctl_options)
    rules.push_back({"prctl", Action::allow, {is(0, option)}});
  for (const std::uint64_t request : ioctl_requests)
    rules.push_back({"ioctl", Action::allow, {is(1, request)}});
  for (const std::uint64_t persona : {std::uint64_t{0}, low_half})
    rules.push_back({"personality", Action::allow, {is(0, persona)}});
  return rules;
}

std::vector<Rule> zygote_rules() {
  std::vector<Rule> rules = sandbox_rules();
  // Replaced below.
  std::erase_if(rules, [](const Rule& rule) {
    const auto* end = std::end(zygote_calls);
    return (rule.call == "clone" && rule.action == Action::refuse) || rule.call == "unshare" ||
           std::find(std::begin(zygote_calls), end, rule.call) != end;
  });
  for (const char* name : zygote_calls) rules.push_back({name, Action::allow});
  // A helper makes a sandbox's user namespace, in just this way; no process makes one for itself.
  rules.push_back({"clone", Action::allow, {is(0, maker_of_user_namespace)}});
  rules.push_back({"unshare", Action::allow, {{0, CLONE_NEWUSER, 0}}});
  for (const std::uint64_t option : zygote_prctl_options)
    rules.push_back({"prctl", Action::allow, {is(0, option)}});
  rules.push_back({"ioctl", Action::allow, {is(1, SIOCSIFFLAGS)}});
  return rules;
}

}  // namespace hearth::seccomp
