#include "launcher/options.h"

#include "base/error.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace hearth::launcher {

const char* const usage_text =
    "usage: hearth-launcher [OPTION]... -- COMMAND [ARGUMENT]...\n"
    "\n"
    "Runs COMMAND as PID 1 of new user, pid, mount, network, IPC, UTS and cgroup namespaces, in a\n"
    "root file system that contains what the options name and nothing else. Exits with its "
    "parent.\n"
    "\n"
    "  --ro-bind SOURCE PATH   mount SOURCE at PATH, read-only\n"
    "  --bind SOURCE PATH      mount SOURCE at PATH, writable\n"
    "  --ro-mount SOURCE PATH, --mount SOURCE PATH\n"
    "                          the same, but a symbolic link on the way to SOURCE is an error\n"
    "  --dir PATH              make an empty directory\n"
    "  --symlink TARGET PATH   make a symbolic link\n"
    "  --file PATH TEXT        make a file with this content\n"
    "  --dev                   make /dev with null, zero, full, random and urandom\n"
    "  --scratch PATH MB       mount an empty file system in memory that all users can write\n"
    "  --uids FIRST COUNT      map these users into the sandbox (needs CAP_SETUID and "
    "CAP_SETGID);\n"
    "                          without it, root inside is the caller outside. The machine's root\n"
    "                          is never among them\n"
    "  --share-net             keep the caller's network instead of a new network namespace\n"
    "  --cgroup-fd N           join the cgroup by this descriptor of its `tasks` or "
    "`cgroup.procs`;\n"
    "                          once for each hierarchy\n"
    "  --keep-fd N             let COMMAND inherit this descriptor\n"
    "  --seccomp-fd N          run COMMAND under the filter (struct sock_filter[]) in this file\n"
    "  --setenv NAME VALUE     set an environment variable; COMMAND gets no others\n"
    "  --keep-env              pass on the launcher's environment variables, too\n"
    "\n"
    "COMMAND is root of its user namespace, with the capabilities that a zygote needs to isolate "
    "its\n"
    "sandboxes. With --user it has no capabilities and cannot gain any, and these limits apply:\n"
    "  --user ID               user and group of COMMAND, as seen inside\n"
    "  --memory-mb N           limit on the address space of each process\n"
    "  --processes N           limit on processes and threads of this user\n"
    "  --file-mb N             limit on the size of a file\n"
    "\n"
    "Exit code: that of COMMAND, 128 plus the signal that killed it, or 125 if it could not be\n"
    "started.\n";

namespace {

class Arguments {
 public:
  Arguments(int argc, char** argv) : rest_(argv + 1, argv + argc) {}

  bool empty() const { return at_ == rest_.size(); }
  std::string take(std::string_view option) {
    if (empty()) throw Error(std::string(option) + " needs a value");
    return rest_[at_++];
  }
  std::uint32_t take_number(std::string_view option) {
    const std::string text = take(option);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        value > std::numeric_limits<std::int32_t>::max())
      throw Error(std::string(option) + " takes a number, not \"" + text + '"');
    return value;
  }

 private:
  std::vector<std::string> rest_;
  std::size_t at_ = 0;
};

std::string absolute(std::string_view option, std::string path) {
  // Hearth itself names the paths inside, so this catches mistakes, not attacks.
  if (!path.starts_with('/') || path.find("..") != std::string::npos)
    throw Error(std::string(option) + " takes absolute paths, not \"" + path + '"');
  return path;
}

bool take_confinement(Confinement& confinement, std::string_view option, Arguments& arguments) {
  if (option == "--user") {
    confinement.user = arguments.take_number(option);
  } else if (option == "--memory-mb") {
    confinement.memory_mb = arguments.take_number(option);
  } else if (option == "--processes") {
    confinement.processes = arguments.take_number(option);
  } else if (option == "--file-mb") {
    confinement.file_mb = arguments.take_number(option);
  } else {
    return false;
  }
  return true;
}

bool take_bind(std::vector<Step>& steps, std::string_view option, Arguments& arguments) {
  const bool is_bind = option == "--ro-bind" || option == "--bind";
  const bool is_mount = option == "--ro-mount" || option == "--mount";
  if (!is_bind && !is_mount) return false;
  Bind bind;
  bind.source = arguments.take(option);
  if (is_mount && !bind.source.starts_with('/'))
    throw Error(std::string(option) + " takes absolute paths, not \"" + bind.source + '"');
  bind.target = absolute(option, arguments.take(option));
  bind.writable = !option.starts_with("--ro-");
  bind.follows_links = is_bind;
  steps.emplace_back(std::move(bind));
  return true;
}

void take_option(Options& options, std::string_view option, Arguments& arguments) {
  if (take_bind(options.steps, option, arguments)) return;
  if (option == "--dir") {
    options.steps.emplace_back(Directory{absolute(option, arguments.take(option))});
  } else if (option == "--symlink") {
    std::string target = arguments.take(option);
    options.steps.emplace_back(
        Symlink{std::move(target), absolute(option, arguments.take(option))});
  } else if (option == "--file") {
    std::string path = absolute(option, arguments.take(option));
    options.steps.emplace_back(File{std::move(path), arguments.take(option)});
  } else if (option == "--dev") {
    options.steps.emplace_back(Devices{});
  } else if (option == "--scratch") {
    std::string path = absolute(option, arguments.take(option));
    options.steps.emplace_back(Scratch{std::move(path), arguments.take_number(option)});
  } else if (option == "--share-net") {
    options.shares_network = true;
  } else if (option == "--keep-env") {
    options.keeps_environment = true;
  } else if (option == "--uids") {
    options.uids.first = arguments.take_number(option);
    options.uids.count = arguments.take_number(option);
  } else if (option == "--keep-fd") {
    options.kept_fds.push_back(static_cast<int>(arguments.take_number(option)));
  } else if (option == "--cgroup-fd") {
    options.cgroup_fds.push_back(static_cast<int>(arguments.take_number(option)));
  } else if (option == "--seccomp-fd") {
    options.seccomp_fd = static_cast<int>(arguments.take_number(option));
  } else if (option == "--setenv") {
    std::string name = arguments.take(option);
    options.environment.push_back(std::move(name) + '=' + arguments.take(option));
  } else if (!take_confinement(options.confinement, option, arguments)) {
    throw Error("unknown option " + std::string(option));
  }
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  Arguments arguments(argc, argv);
  while (!arguments.empty()) {
    const std::string option = arguments.take("the command line");
    if (option == "--") {
      while (!arguments.empty()) options.command.push_back(arguments.take("--"));
      break;
    }
    take_option(options, option, arguments);
  }
  if (options.command.empty()) throw Error("no command is named after --");
  const Confinement& confinement = options.confinement;
  const bool has_limits =
      confinement.memory_mb != 0 || confinement.processes != 0 || confinement.file_mb != 0;
  if (has_limits && confinement.user == 0) throw Error("limits need --user");
  return options;
}

}  // namespace hearth::launcher
