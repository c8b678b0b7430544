#include "seccomp/rules.h"

#include "seccomp/system_calls.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace hearth::seccomp {
namespace {

constexpr std::uint64_t low_half = 0xffffffff;
constexpr std::uint64_t type_of_file = S_IFMT;
constexpr std::uint64_t type_of_socket = 0xf;
// CLONE_NEWNS, NEWTIME, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
constexpr std::uint64_t any_new_namespace = 0x7e020080;

// The kernel looks at the lower half of an `int`.
Condition is(unsigned argument, std::uint64_t value) { return {argument, low_half, value}; }

void add_sockets(std::vector<Rule>& rules) {
  const auto allow = [&rules](std::vector<Condition> conditions) {
    rules.push_back({"socket", Action::allow, std::move(conditions)});
  };
  allow({is(0, AF_UNIX)});
  allow({is(0, AF_NETLINK), is(2, NETLINK_ROUTE)});
  struct Kind {
    std::uint64_t type;
    std::uint64_t protocol;
  };
  for (const std::uint64_t family : {AF_INET, AF_INET6})
    for (const Kind kind : {Kind{SOCK_STREAM, 0}, Kind{SOCK_STREAM, IPPROTO_TCP},
                            Kind{SOCK_DGRAM, 0}, Kind{SOCK_DGRAM, IPPROTO_UDP}})
      allow({is(0, family), {1, type_of_socket, kind.type}, is(2, kind.protocol)});
}

void add_clone(std::vector<Rule>& rules) {
  rules.push_back({"clone", Action::allow, {{0, any_new_namespace, 0}}});
  for (std::uint64_t bit = 1; bit <= any_new_namespace; bit <<= 1)
    if ((bit & any_new_namespace) != 0) rules.push_back({"clone", Action::refuse, {{0, bit, bit}}});
}

// No devices: a whiteout (character device 0:0) may be made by everybody.
void add_nodes(std::vector<Rule>& rules) {
  const auto add = [&rules](std::uint64_t type, Action action) {
    rules.push_back({"mknod", action, {{1, type_of_file, type}}});
    rules.push_back({"mknodat", action, {{2, type_of_file, type}}});
  };
  for (const std::uint64_t type : {0U, unsigned{S_IFREG}, unsigned{S_IFIFO}, unsigned{S_IFSOCK}})
    add(type, Action::allow);
  for (const std::uint64_t type : {unsigned{S_IFCHR}, unsigned{S_IFBLK}}) add(type, Action::refuse);
}

}  // namespace

std::vector<Rule> sandbox_rules() {
  std::vector<Rule> rules;
  for (const char* name : allowed_calls) rules.push_back({name, Action::allow});
  for (const char* name : refused_calls) rules.push_back({name, Action::refuse});
  add_sockets(rules);
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

}  // namespace hearth::seccomp
