// hearth-init: PID 1 of every sandbox.
#include "base/error.h"
#include "init/confinement.h"
#include "init/limits.h"
#include "init/options.h"
#include "init/supervisor.h"
#include "init/user_list.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

// The inode of the machine's first pid namespace is a constant of the kernel (PROC_PID_INIT_INO).
bool in_first_pid_namespace() {
  char name[64] = {};
  return ::readlink("/proc/self/ns/pid", name, sizeof name - 1) > 0 &&
         std::string_view(name) == "pid:[4026531836]";
}

void protect_from_scripts() {
  // Closes memory, environment and descriptors to processes of the same user.
  ::prctl(PR_SET_DUMPABLE, 0);
  // Not 0: with 0 the kernel still starts a program that core_pattern names. Where the seccomp
  // filter refuses this call, the limit was set before.
  rlimit cores{};
  ::getrlimit(RLIMIT_CORE, &cores);
  cores.rlim_cur = cores.rlim_max = std::min<rlim_t>(cores.rlim_max, 1);
  ::setrlimit(RLIMIT_CORE, &cores);
  ::umask(022);
}

// For init only: the harness gets the limit for scripts.
void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur =
      std::max(files.rlim_cur, std::min<rlim_t>(files.rlim_max, hearth::init::init_files));
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(hearth::init::usage_text, stdout);
    return 0;
  }
  // It kills every process it can see. Outside a pid namespace that would be the whole machine.
  if (::getpid() != 1 || in_first_pid_namespace()) {
    std::fputs("hearth-init: works only as PID 1 of a pid namespace of its own\n", stderr);
    return 2;
  }
  try {
    const hearth::init::Options options = hearth::init::parse_options(argc, argv);
    const std::string missing =
        hearth::init::missing_confinement(options.confined, hearth::init::observed_confinement());
    if (!missing.empty()) throw hearth::Error("the sandbox is not what was asked for: " + missing);
    protect_from_scripts();
    if (!options.adopted) raise_file_limit();
    if (options.passwd) hearth::init::write_user_list(*options.passwd);
    return hearth::init::Supervisor(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hearth-init: %s\n", error.what());
    return 1;
  }
}
