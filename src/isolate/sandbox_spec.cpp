#include "isolate/sandbox_spec.h"

#include <cstddef>

#define FIELD(name) {#name, offsetof(HearthSandboxSpec, name), sizeof(HearthSandboxSpec::name)}

constexpr HearthSpecField hearth_spec_fields[] = {
    FIELD(uid),
    FIELD(gid),
    FIELD(workspace_bytes),
    FIELD(workspace_inodes),
    FIELD(scratch_bytes),
    FIELD(scratch_inodes),
    FIELD(file_bytes),
    FIELD(process_memory_bytes),
    FIELD(processes),
    FIELD(cgroup_fds),
    FIELD(cgroup_count),
    FIELD(seccomp_filter),
    FIELD(seccomp_length),
    FIELD(writable_paths),
    FIELD(use_landlock),
    FIELD(init_path),
    FIELD(versions),
    FIELD(environment),
    FIELD(after_fork),
    FIELD(own_pid_namespace),
    FIELD(stream),
    FIELD(control),
    FIELD(network),
    FIELD(joined),
    FIELD(gate),
    FIELD(worker_fds),
    {nullptr, sizeof(HearthSandboxSpec), 0},
};

namespace {

// Each field begins where the one before it ends, so none is left out.
constexpr bool has_all_fields() {
  std::uint64_t end = 0;
  for (const HearthSpecField& field : hearth_spec_fields) {
    if (field.offset != end) return false;
    end += field.size;
  }
  return true;
}
static_assert(has_all_fields(), "hearth_spec_fields lacks a field, or the structure has padding");

}  // namespace
