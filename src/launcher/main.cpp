// hearth-launcher: builds namespaces and a root, executes a zygote or a confined program there, and
// waits.
#include "base/error.h"
#include "launcher/confinement.h"
#include "launcher/namespaces.h"
#include "launcher/options.h"
#include "launcher/root.h"
#include "os/own_memory.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace hearth;
using namespace hearth::launcher;

constexpr int cannot_launch = 125;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// A zygote inherits only the named descriptors, and no directory of the old root.
void close_all_but(std::vector<int> kept) {
  for (const int standard : {0, 1, 2}) kept.push_back(standard);
  std::sort(kept.begin(), kept.end());
  unsigned first = 0;
  for (const int fd : kept) {
    if (static_cast<unsigned>(fd) > first) ::close_range(first, static_cast<unsigned>(fd) - 1, 0);
    first = static_cast<unsigned>(fd) + 1;
  }
  ::close_range(first, ~0U, 0);
}

[[noreturn]] void execute(Options& options) {
  for (const int fd : options.kept_fds) ::fcntl(fd, F_SETFD, 0);
  if (options.keeps_environment)
    for (char** variable = environ; *variable != nullptr; ++variable)
      options.environment.emplace_back(*variable);
  std::vector<char*> command = pointers(options.command);
  std::vector<char*> environment = pointers(options.environment);
  ::execve(command[0], command.data(), environment.data());
  throw OsError("execute " + options.command[0]);
}

[[noreturn]] void become_zygote(Options& options, int launcher, const std::string& filter) try {
  die_with_parent();
  // It may have exited before that call. getppid() is 0 in this namespace in any case.
  pollfd parent{launcher, POLLIN, 0};
  if (::poll(&parent, 1, 0) != 0) std::_Exit(1);
  enter_root();
  if (options.confinement.user != 0) {
    give_up_rights(options.confinement, options.uids.count <= 1);
    die_with_parent();  // the kernel dropped it when the user changed
    if (::poll(&parent, 1, 0) != 0) std::_Exit(1);
  } else {
    keep_zygote_capabilities();
  }
  install_filter(filter);
  execute(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "hearth-launcher: %s\n", error.what());
  std::_Exit(cannot_launch);
}

int wait_for(pid_t zygote) {
  // Only the zygote may hold them: its exit must close them for the processes at the other ends.
  ::close_range(3, ~0U, 0);
  int status = 0;
  while (::waitpid(zygote, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int launch(Options& options) {
  const pid_t parent = ::getppid();
  std::vector<int> needed = options.kept_fds;
  needed.insert(needed.end(), options.cgroup_fds.begin(), options.cgroup_fds.end());
  if (options.seccomp_fd >= 0) needed.push_back(options.seccomp_fd);
  close_all_but(std::move(needed));
  // First, so that everything else is within its limits.
  join_cgroups(options.cgroup_fds);
  const std::string filter = read_filter(options.seccomp_fd);
  close_all_but(options.kept_fds);
  ::umask(022);
  os::forbid_cores();
  Namespaces namespaces(options.uids);
  namespaces.become_able_to_mount();
  const std::vector<os::UniqueFd> sources = open_sources(options.steps);
  namespaces.become_first_user();
  build_root(options.steps, sources);
  namespaces.enter(options.shares_network);
  die_with_parent();
  // It may have exited before that call. Only children are in the new pid namespace, so it is
  // visible.
  if (::getppid() != parent) return 1;
  const int self = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  if (self < 0) throw OsError("pidfd_open");
  const pid_t zygote = ::fork();
  if (zygote < 0) throw OsError("fork");
  if (zygote == 0) become_zygote(options, self, filter);
  return wait_for(zygote);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(usage_text, stdout);
    return 0;
  }
  try {
    // Otherwise it would give its rights to every user of the machine.
    if (::getauxval(AT_SECURE) != 0)
      throw Error("the program has a set-user-id bit or file capabilities; it must have neither");
    Options options = parse_options(argc, argv);
    return launch(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hearth-launcher: %s\n", error.what());
    return cannot_launch;
  }
}
