#include "native/launch_plan.h"

#include <initializer_list>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

class Words {
 public:
  void add(std::initializer_list<std::string> more) {
    words_.insert(words_.end(), more.begin(), more.end());
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

// Since /usr holds the system, these are links into it; where they are directories, they are shown
// as such.
void show_system(Words& words, const Machine& machine) {
  words.add({"--ro-bind", "/usr", "/usr"});
  for (const std::string path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    if (const auto target = machine.link_target(path)) {
      words.add({"--symlink", *target, path});
    } else if (machine.exists(path)) {
      words.add({"--ro-bind", path, path});
    }
  }
  // What Python, its libraries and the dynamic linker read; nothing that tells of this machine's
  // users, keys or network.
  for (const std::string name :
       {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
        "/etc/timezone", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates",
        "/etc/alternatives", "/etc/mime.types", "/etc/fonts", "/etc/matplotlibrc", "/etc/python3",
        "/etc/python3.11", "/etc/python3.12", "/etc/python3.13"})
    if (machine.exists(name)) words.add({"--ro-bind", name, name});
  words.add({"--file", "/etc/passwd",
             "root:x:0:0::/:/usr/sbin/nologin\n"
             "sandbox:x:1000:1000::/workspace:/bin/sh\n"
             "nobody:x:65534:65534::/:/usr/sbin/nologin\n"});
  words.add({"--file", "/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"});
  words.add({"--file", "/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"});
  words.add({"--file", "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"});
}

// An interpreter of its own (pyenv, /opt) comes with its whole installation.
void show_python(Words& words, const fs::path& python) {
  const fs::path installation = python.parent_path().parent_path();
  if (installation != "/usr" && installation != "/")
    words.add({"--ro-bind", installation.string(), installation.string()});
}

void show_ours(Words& words, const Environment& environment, const backend::Programs& programs) {
  words.add({"--ro-bind", programs.init.string(), "/hearth/init"});
  words.add({"--ro-bind", programs.isolate_library.string(), "/hearth/libhearth-isolate.so"});
  words.add({"--ro-bind", programs.harness.string(), "/hearth/executor_harness.py"});
  if (!environment.packages.empty())
    words.add({"--ro-bind", environment.packages.string(), "/packages"});
  if (!environment.tools.empty()) words.add({"--ro-bind", environment.tools.string(), "/tools"});
  for (const std::string path : {"/workspace", "/tmp", "/tools"}) words.add({"--dir", path});
  words.add({"--dev"});
  for (const blueprint::FileResource& resource : environment.resources)
    words.add(
        {resource.read_only ? "--ro-bind" : "--bind", resource.host_path, resource.container_path});
}

void set_environment(Words& words) {
  words.add({"--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"});
  words.add({"--setenv", "HOME", "/workspace", "--setenv", "USER", "sandbox"});
  words.add({"--setenv", "LANG", "C.UTF-8", "--setenv", "TMPDIR", "/tmp"});
  words.add({"--setenv", "HEARTH_CONTROL_FD", std::to_string(zygote_control_fd)});
  words.add({"--setenv", "HEARTH_SECCOMP_FD", std::to_string(zygote_seccomp_fd)});
  words.add({"--keep-fd", std::to_string(zygote_control_fd)});
  words.add({"--keep-fd", std::to_string(zygote_seccomp_fd)});
}

void start_python(Words& words, const Environment& environment) {
  // -s: no packages of whoever runs Hearth. Bytecode goes nowhere: the root is read-only.
  words.add({"--", environment.python.string(), "-s", "-B", "/hearth/executor_harness.py"});
  words.add({"--zygote", "yes"});
  if (!environment.packages.empty()) words.add({"--path", "/packages"});
  for (const std::string& module : environment.preload) words.add({"--preload", module});
  for (const blueprint::FileResource& resource : environment.resources)
    if (!resource.read_only) words.add({"--writable", resource.container_path});
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.exists = [](const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
  };
  machine.link_target = [](const std::string& path) -> std::optional<std::string> {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return std::nullopt;
    return target.string();
  };
  return machine;
}

LaunchPlan launch_plan(const Environment& environment, const backend::Programs& programs,
                       const std::optional<UidRange>& uids, const Machine& machine) {
  Words words;
  if (uids) words.add({"--uids", std::to_string(uids->first), std::to_string(uids->count)});
  show_system(words, machine);
  show_python(words, environment.python);
  show_ours(words, environment, programs);
  set_environment(words);
  start_python(words, environment);
  return {words.take()};
}

}  // namespace hearth::native
