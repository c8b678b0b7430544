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
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <initializer_list>
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
// Numbers that differ only in the bits of `within`.
struct Block {
  std::uint64_t first;
  std::uint64_t within;
};
Condition one_of(unsigned argument, Block block) {
  return {argument, low_half & ~block.within, block.first};
}
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
  rules.push_back({"prlimit64", Action::allow, {equals(2, 0)}});
  rules.push_back({"prlimit64", Action::refuse, {differs(0, 0), differs(2, 0)}});
  // A script with a limit of 0 for cores could start the program that core_pattern names.
  for (const Block block : {Block{0, 0x3}, Block{5, 0}, Block{6, 0x1}, Block{8, 0x7}}) {
    rules.push_back({"prlimit64", Action::allow, {equals(0, 0), differs(2, 0), one_of(1, block)}});
    rules.push_back({"setrlimit", Action::allow, {one_of(0, block)}});
  }
  rules.push_back({"prlimit64", Action::refuse, {equals(0, 0), differs(2, 0), is(1, RLIMIT_CORE)}});
  rules.push_back({"setrlimit", Action::refuse, {is(0, RLIMIT_CORE)}});
}

// Notifications and leases on files that others use, too, slow those down or block them; each that
// is open makes the exit slower.
void add_descriptor_commands(std::vector<Rule>& rules) {
  const auto add = [&rules](Action action, std::vector<Condition> conditions) {
    rules.push_back({"fcntl", action, std::move(conditions)});
  };
  add(Action::allow, {is(1, F_SETFL), has_none(2, O_ASYNC)});
  add(Action::refuse, {is(1, F_SETFL), has(2, O_ASYNC)});
  for (const std::uint64_t command : {F_SETLEASE, F_NOTIFY}) add(Action::refuse, {is(1, command)});
  // Descriptors, flags, locks and owners; those of open files; F_GETLEASE; from F_DUPFD_CLOEXEC on
  // pipes, seals and hints.
  for (const Block block :
       {Block{0, 0x3}, Block{5, 0}, Block{6, 0x1}, Block{8, 0x7}, Block{16, 0x1}, Block{36, 0x3},
        Block{1025, 0}, Block{1030, 0x1}, Block{1032, 0x7}, Block{1040, 0}})
    add(Action::allow, {one_of(1, block)});
}

// What was sent with MSG_MORE waits in the kernel, and nothing counts it.
void add_sending(std::vector<Rule>& rules) {
  struct Flag {
    const char* call;
    unsigned argument;
    std::uint64_t bit;
  };
  for (const Flag& flag :
       {Flag{"sendto", 3, MSG_MORE}, Flag{"sendmsg", 2, MSG_MORE}, Flag{"sendmmsg", 3, MSG_MORE}}) {
    rules.push_back({flag.call, Action::allow, {has_none(flag.argument, flag.bit)}});
    rules.push_back({flag.call, Action::refuse, {has(flag.argument, flag.bit)}});
  }
}

// Pages that TCP_ZEROCOPY_RECEIVE maps are counted for no process. A handle of the process at the
// other end may be one of the host's.
void add_reading_of_options(std::vector<Rule>& rules) {
  constexpr std::uint64_t zerocopy_receive = 35;  // TCP_ZEROCOPY_RECEIVE, absent from older headers
  for (const Block level :
       {Block{0, 0}, Block{2, 0x1}, Block{4, 0x1}, Block{7, 0}, Block{8, 0x7}, Block{16, 0xf},
        Block{32, 0x1f}, Block{64, 0x3f}, Block{128, 0x7f}, Block{256, 0xff}})
    rules.push_back({"getsockopt", Action::allow, {one_of(1, level)}});
  for (const Block option : {Block{0, 0x3f}, Block{64, 0x7}, Block{72, 0x3}})
    rules.push_back({"getsockopt", Action::allow, {is(1, SOL_SOCKET), one_of(2, option)}});
  for (const Block option :
       {Block{0, 0x1f}, Block{32, 0x1}, Block{34, 0}, Block{36, 0x3}, Block{40, 0x7}})
    rules.push_back({"getsockopt", Action::allow, {is(1, IPPROTO_TCP), one_of(2, option)}});
  rules.push_back({"getsockopt", Action::refuse, {is(1, IPPROTO_TCP), is(2, zerocopy_receive)}});
}

// With both of these a script sees which of the host's files were read: it drops them from the page
// cache, and asks whether they are back.
void add_page_cache(std::vector<Rule>& rules) {
  for (const Block advice : {Block{0, 0x3}, Block{5, 0}})
    rules.push_back({"fadvise64", Action::allow, {one_of(3, advice)}});
  rules.push_back({"fadvise64", Action::refuse, {is(3, POSIX_FADV_DONTNEED)}});
  for (const char* call : {"preadv2", "pwritev2"}) {
    rules.push_back({call, Action::allow, {has_none(5, RWF_NOWAIT)}});
    rules.push_back({call, Action::refuse, {has(5, RWF_NOWAIT)}});
  }
}

// A whiteout is a device: see mknod.
void add_renames(std::vector<Rule>& rules) {
  rules.push_back({"renameat2", Action::allow, {has_none(4, RENAME_WHITEOUT)}});
  rules.push_back({"renameat2", Action::refuse, {has(4, RENAME_WHITEOUT)}});
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

// Programs attached to a socket are kernel memory that no cgroup counts. So is a socket's error
// queue, which holds copies of what was sent (time stamps, zero copy) or of errors.
void add_socket_options(std::vector<Rule>& rules) {
  const auto add = [&rules](Action action, std::vector<Condition> conditions) {
    rules.push_back({"setsockopt", action, std::move(conditions)});
  };
  const auto allow = [&](std::uint64_t level, std::initializer_list<Block> blocks) {
    for (const Block block : blocks) add(Action::allow, {is(1, level), one_of(2, block)});
  };
  // Not groups, filters of sources, labels, keys and corks, which are memory that nothing counts.
  allow(IPPROTO_IP,
        {{0, 0x7}, {8, 0x1}, {10, 0}, {12, 0x3}, {16, 0x7}, {24, 0x7}, {32, 0x1}, {34, 0}});
  allow(IPPROTO_IPV6, {{16, 0x3}, {22, 0x1}, {24, 0}, {26, 0}, {49, 0}, {50, 0x1}, {66, 0x1}});
  allow(IPPROTO_TCP, {{0, 0x7},
                      {8, 0x3},
                      {12, 0x1},
                      {15, 0},
                      {16, 0x7},
                      {24, 0x3},
                      {28, 0x1},
                      {30, 0},
                      {36, 0x1}});
  allow(IPPROTO_UDP, {{101, 0}, {102, 0x1}, {104, 0}});
  for (const std::uint64_t option :
       {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF,
        SO_TIMESTAMPING_OLD, SO_TIMESTAMPING_NEW, SO_ZEROCOPY})
    add(Action::refuse, {is(1, SOL_SOCKET), is(2, option)});
  // Megabytes may wait in each connection that was not accepted, and nothing counts those. Programs
  // only ask for more as an advice.
  add(Action::ignore, {is(1, SOL_SOCKET), is(2, SO_RCVBUF)});
  add(Action::refuse, {is(1, IPPROTO_IP), is(2, IP_RECVERR)});
  add(Action::refuse, {is(1, IPPROTO_IPV6), is(2, IPV6_RECVERR)});
  allow(SOL_SOCKET, {{0, 0x7},
                     {9, 0},
                     {10, 0x1},
                     {12, 0x3},
                     {16, 0x7},
                     {24, 0x1},
                     {28, 0x3},
                     {32, 0x3},
                     {36, 0},
                     {38, 0x1},
                     {40, 0x7},
                     {56, 0x3},
                     {62, 0x1},
                     {64, 0},
                     {66, 0x1},
                     {68, 0x3},
                     {72, 0x3}});
}

void add_clone(std::vector<Rule>& rules) {
  rules.push_back({"clone", Action::allow, {{0, any_new_namespace, 0}}});
  for (std::uint64_t bit = 1; bit <= any_new_namespace; bit <<= 1)
    if ((bit & any_new_namespace) != 0) rules.push_back({"clone", Action::refuse, {{0, bit, bit}}});
}

// No set-uid files, and no devices: a whiteout (character device 0:0) may be made by every user.
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

int error_of(Action action) {
  if (action == Action::ignore) return 0;
  return action == Action::lack ? ENOTSUP : EPERM;
}

std::vector<Rule> sandbox_rules() {
  std::vector<Rule> rules;
  for (const char* name : allowed_calls) rules.push_back({name, Action::allow});
  for (const char* name : refused_calls) rules.push_back({name, Action::refuse});
  for (const char* name : lacking_calls) rules.push_back({name, Action::lack});
  add_process_settings(rules);
  add_descriptor_commands(rules);
  add_sending(rules);
  add_reading_of_options(rules);
  add_page_cache(rules);
  add_renames(rules);
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

std::vector<Rule> build_rules() {
  std::vector<Rule> rules = sandbox_rules();
  std::erase_if(rules, [](const Rule& rule) {
    return rule.call == "socket" && rule.conditions == std::vector<Condition>{is(0, AF_UNIX)};
  });
  rules.push_back({"socket", Action::refuse, {is(0, AF_UNIX)}});
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
