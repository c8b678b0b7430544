#include "isolate/mounts.h"

#include "isolate/failure.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>

namespace hearth::isolate {
namespace {

struct Scratch {
  const char* path;
  std::uint64_t bytes;
  std::uint64_t inodes;
  const char* mode;
};

bool mount_scratch_directory(const Scratch& scratch, const HearthSandboxSpec& spec) {
  char options[160];
  const int size = std::snprintf(
      options, sizeof options, "size=%llu,nr_inodes=%llu,mode=%s,uid=%u,gid=%u",
      static_cast<unsigned long long>(scratch.bytes),
      static_cast<unsigned long long>(scratch.inodes), scratch.mode, spec.uid, spec.gid);
  if (size < 0 || size >= static_cast<int>(sizeof options)) return false;
  return ::mount("tmpfs", scratch.path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

// Some of these paths exist only with certain hardware or kernel options.
bool is_missing() { return errno == ENOENT; }

bool hide(const char* path) {
  return ::mount("/dev/null", path, nullptr, MS_BIND, nullptr) == 0 || is_missing();
}

bool hide_directory(const char* path) {
  return ::mount("tmpfs", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "size=0,nr_inodes=1") == 0 ||
         is_missing();
}

bool make_read_only(const char* path) {
  if (::mount(path, path, nullptr, MS_BIND | MS_REC, nullptr) != 0) return is_missing();
  return ::mount(nullptr, path, nullptr,
                 MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

}  // namespace

// Terminals of its own, so that no other sandbox's are there. They are memory of the kernel that no
// cgroup counts on older kernels: about 150 kB each when both directions are full.
bool mount_terminals() {
  return ::mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                 "newinstance,ptmxmode=0666,mode=0620,max=32") == 0 ||
         fail("mount /dev/pts");
}

bool mount_scratch(const HearthSandboxSpec& spec) {
  const Scratch scratches[] = {
      {"/workspace", spec.workspace_bytes, spec.workspace_inodes, "0700"},
      {"/tmp", spec.scratch_bytes, spec.scratch_inodes, "1777"},
      {"/dev/shm", spec.scratch_bytes, spec.scratch_inodes, "1777"},
  };
  for (const Scratch& scratch : scratches)
    if (!mount_scratch_directory(scratch, spec)) return fail("mount the scratch directories");
  return true;
}

bool mount_proc() {
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return fail("mount /proc");
  for (const char* path : {"/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/timer_list",
                           "/proc/sched_debug", "/proc/kallsyms", "/proc/kmsg",
                           "/proc/latency_stats", "/proc/interrupts", "/proc/config.gz",
                           // Reading it keeps the whole machine from locking files.
                           "/proc/locks"})
    if (!hide(path)) return fail("hide files of /proc");
  for (const char* path :
       {"/proc/acpi", "/proc/scsi", "/proc/asound", "/proc/pressure", "/proc/fs"})
    if (!hide_directory(path)) return fail("hide directories of /proc");
  for (const char* path : {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"})
    if (!make_read_only(path)) return fail("make parts of /proc read-only");
  return true;
}

}  // namespace hearth::isolate
