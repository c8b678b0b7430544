#include "native/launch_plan.h"

#include "backend/layout.h"
#include "native/shown_system.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;
namespace layout = backend::layout;

void show_no_network(LauncherWords& words) {
  words.add({"--file", "/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"});
  words.add({"--file", "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"});
}

void show_ours(LauncherWords& words, const ZygoteContent& content,
               const backend::Programs& programs) {
  words.add({"--ro-bind", programs.init.string(), "/hearth/init"});
  words.add({"--ro-bind", programs.isolate_library.string(), "/hearth/libhearth-isolate.so"});
  words.add({"--ro-bind", programs.harness.string(), layout::harness});
  if (!content.packages.empty()) words.add({"--ro-bind", content.packages.string(), "/packages"});
  if (!content.tools.empty()) words.add({"--ro-bind", content.tools.string(), layout::tools});
  words.add({"--dir", layout::tools});
  // For what tools and preloaded modules write while they load. A sandbox mounts its own over them.
  constexpr std::int64_t loading_mb = layout::temporary_bytes >> 20;
  for (const char* path : {layout::workspace, layout::temporary})
    words.add({"--scratch", path, std::to_string(loading_mb)});
  words.add({"--dev"});
  for (const blueprint::Mount& mount : content.mounts)
    words.add({mount.read_only ? "--ro-mount" : "--mount", mount.source, mount.target});
}

// Also in processes that a script starts, `python3` and `python` are the interpreter of the script.
// A virtual environment is known by the directory of its programs; all others by links.
void name_python(LauncherWords& words, const Machine& machine, const fs::path& python) {
  std::string path;
  if (machine.exists(python.parent_path().parent_path() / "pyvenv.cfg")) {
    path = python.parent_path().string();
  } else {
    path = "/hearth/bin";
    for (const char* name : {"python3", "python"})
      words.add({"--symlink", python.string(), path + '/' + name});
  }
  for (const auto& [name, value] : layout::env)
    if (std::string_view(name) == "PATH") words.add({"--setenv", name, path + ':' + value});
}

void set_environment(LauncherWords& words) {
  for (const auto& [name, value] : layout::env)
    if (std::string_view(name) != "PATH") words.add({"--setenv", name, value});
  words.add({"--setenv", "HEARTH_CONTROL_FD", std::to_string(zygote_control_fd)});
  words.add({"--setenv", "HEARTH_SECCOMP_FD", std::to_string(zygote_seccomp_fd)});
  words.add({"--keep-fd", std::to_string(zygote_control_fd)});
  words.add({"--keep-fd", std::to_string(zygote_seccomp_fd)});
  words.add({"--seccomp-fd", std::to_string(launcher_seccomp_fd)});
}

void start_python(LauncherWords& words, const ZygoteContent& content) {
  // -s: no packages of the user that runs Hearth. Bytecode goes nowhere: the root is read-only.
  words.add({"--", content.python.string(), "-s", "-B", layout::harness});
  words.add({"--zygote", "yes"});
  if (!content.packages.empty()) words.add({"--path", "/packages"});
  for (const std::string& module : content.preload) words.add({"--preload", module});
  for (const blueprint::Mount& mount : content.mounts)
    if (!mount.read_only) words.add({"--writable", mount.target});
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
  machine.content_of = [](const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  };
  if (const char* home = std::getenv("HOME")) machine.home = home;
  return machine;
}

LaunchPlan launch_plan(const ZygoteContent& content, const backend::Programs& programs,
                       const std::optional<UidRange>& uids, const Machine& machine) {
  LauncherWords words;
  if (uids) words.add({"--uids", std::to_string(uids->first), std::to_string(uids->count)});
  show_system(words, machine);
  show_no_network(words);
  show_python(words, machine, content.python);
  show_ours(words, content, programs);
  name_python(words, machine, content.python);
  set_environment(words);
  start_python(words, content);
  return {words.take()};
}

}  // namespace hearth::native
