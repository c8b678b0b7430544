#include "seccomp/compile_filter.h"

#include "base/error.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

namespace hearth::seccomp {
namespace {

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

void check(int result, const std::string& what) {
  if (result != 0) throw OsError("seccomp: " + what, -result);
}

Filter new_filter() {
  Filter filter(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), ::seccomp_release);
  if (!filter) throw Error("libseccomp cannot make a filter");
  check(::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
        "the foreign architectures");
  // A tree instead of a list: as quick for the last call as for the first.
  check(::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "the optimisation");
  return filter;
}

std::uint32_t action_of(const Rule& rule) {
  if (rule.action == Action::allow) return SCMP_ACT_ALLOW;
  return SCMP_ACT_ERRNO(static_cast<unsigned>(error_of(rule.action)));
}

void add(const Filter& filter, const Rule& rule) {
  const int number = ::seccomp_syscall_resolve_name(rule.call.c_str());
  // Unknown to this library or without a number on this machine: then it does not exist anyway.
  if (number < 0) return;
  std::vector<scmp_arg_cmp> conditions;
  for (const Condition& one : rule.conditions)
    conditions.push_back(one.differs
                             ? scmp_arg_cmp{one.argument, SCMP_CMP_NE, one.value, 0}
                             : scmp_arg_cmp{one.argument, SCMP_CMP_MASKED_EQ, one.mask, one.value});
  check(::seccomp_rule_add_array(filter.get(), action_of(rule), number,
                                 static_cast<unsigned>(conditions.size()), conditions.data()),
        rule.call);
}

}  // namespace

os::UniqueFd compile_filter(const std::vector<Rule>& rules) {
  const Filter filter = new_filter();
  for (const Rule& rule : rules) add(filter, rule);
  os::UniqueFd file(::memfd_create("hearth-seccomp", MFD_CLOEXEC));
  if (!file) throw OsError("create a file for the seccomp filter");
  check(::seccomp_export_bpf(filter.get(), file.get()), "the compiled filter");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) throw OsError("rewind the seccomp filter");
  return file;
}

}  // namespace hearth::seccomp
