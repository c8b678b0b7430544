#include "native/seccomp_profile.h"

#include "base/error.h"
#include "native/seccomp_lists.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <linux/netlink.h>
#include <netinet/in.h>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <string>

namespace hearth::native {
namespace {

constexpr std::uint64_t low_half = 0xffffffff;
constexpr std::uint64_t type_of_file = S_IFMT;
constexpr std::uint64_t type_of_socket = 0xf;
// CLONE_NEWNS, NEWTIME, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
constexpr std::uint64_t any_new_namespace = 0x7e020080;

class Profile {
 public:
  Profile() : filter_(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), ::seccomp_release) {
    if (!filter_) throw Error("libseccomp cannot make a filter");
    check(::seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
          "the foreign architectures");
    // A tree instead of a list: as quick for the last call as for the first.
    check(::seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "the optimisation");
  }

  void allow(const char* name) { add(SCMP_ACT_ALLOW, name, {}); }
  void refuse(const char* name) { add(SCMP_ACT_ERRNO(EPERM), name, {}); }

  // The kernel looks at the lower half of an `int`; whoever sets bits above is refused.
  void allow_if(const char* name, std::initializer_list<scmp_arg_cmp> conditions) {
    add(SCMP_ACT_ALLOW, name, conditions);
  }
  void refuse_if(const char* name, std::initializer_list<scmp_arg_cmp> conditions) {
    add(SCMP_ACT_ERRNO(EPERM), name, conditions);
  }

  os::UniqueFd compile() const {
    os::UniqueFd file(::memfd_create("hearth-seccomp", MFD_CLOEXEC));
    if (!file) throw OsError("create a file for the seccomp filter");
    check(::seccomp_export_bpf(filter_.get(), file.get()), "the compiled filter");
    if (::lseek(file.get(), 0, SEEK_SET) != 0) throw OsError("rewind the seccomp filter");
    return file;
  }

 private:
  static void check(int result, const std::string& what) {
    if (result != 0) throw OsError("seccomp: " + what, -result);
  }

  void add(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> conditions) {
    const int number = ::seccomp_syscall_resolve_name(name);
    // Unknown to this library or without a number on this machine: then it does not exist anyway.
    if (number < 0) return;
    check(::seccomp_rule_add_array(filter_.get(), action, number,
                                   static_cast<unsigned>(conditions.size()), conditions.begin()),
          name);
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter_;
};

scmp_arg_cmp argument_is(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, low_half, value};
}
scmp_arg_cmp masked_is(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

void allow_sockets(Profile& profile) {
  profile.allow_if("socket", {argument_is(0, AF_UNIX)});
  profile.allow_if("socket", {argument_is(0, AF_NETLINK), argument_is(2, NETLINK_ROUTE)});
  for (const int family : {AF_INET, AF_INET6}) {
    const auto allow = [&](int type, int protocol) {
      profile.allow_if("socket", {argument_is(0, static_cast<std::uint64_t>(family)),
                                  masked_is(1, type_of_socket, static_cast<std::uint64_t>(type)),
                                  argument_is(2, static_cast<std::uint64_t>(protocol))});
    };
    allow(SOCK_STREAM, 0);
    allow(SOCK_STREAM, IPPROTO_TCP);
    allow(SOCK_DGRAM, 0);
    allow(SOCK_DGRAM, IPPROTO_UDP);
  }
}

void allow_some_arguments(Profile& profile) {
  profile.allow_if("clone", {masked_is(0, any_new_namespace, 0)});
  for (std::uint64_t bit = 1; bit <= any_new_namespace; bit <<= 1)
    if ((bit & any_new_namespace) != 0) profile.refuse_if("clone", {masked_is(0, bit, bit)});
  for (const std::uint64_t option : prctl_options)
    profile.allow_if("prctl", {argument_is(0, option)});
  for (const std::uint64_t request : ioctl_requests)
    profile.allow_if("ioctl", {argument_is(1, request)});
  for (const std::uint64_t persona : {std::uint64_t{0}, low_half})
    profile.allow_if("personality", {argument_is(0, persona)});
  // No devices: a whiteout (character device 0:0) may be made by everybody.
  for (const std::uint64_t type : {0U, unsigned{S_IFREG}, unsigned{S_IFIFO}, unsigned{S_IFSOCK}}) {
    profile.allow_if("mknod", {masked_is(1, type_of_file, type)});
    profile.allow_if("mknodat", {masked_is(2, type_of_file, type)});
  }
  for (const std::uint64_t type : {unsigned{S_IFCHR}, unsigned{S_IFBLK}}) {
    profile.refuse_if("mknod", {masked_is(1, type_of_file, type)});
    profile.refuse_if("mknodat", {masked_is(2, type_of_file, type)});
  }
}

}  // namespace

os::UniqueFd compile_seccomp_profile() {
  Profile profile;
  for (const char* name : allowed_calls) profile.allow(name);
  for (const char* name : refused_calls) profile.refuse(name);
  allow_sockets(profile);
  allow_some_arguments(profile);
  return profile.compile();
}

}  // namespace hearth::native
