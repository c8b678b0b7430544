#include "native/shown_system.h"

#include <algorithm>
#include <sstream>
#include <string>

namespace hearth::native {

namespace fs = std::filesystem;

namespace {

constexpr int oldest_minor = 8;
constexpr int newest_minor = 40;

fs::path library_of(const fs::path& installation, int minor) {
  return installation / "lib" / ("python3." + std::to_string(minor));
}

bool is_in(const fs::path& path, const fs::path& directory) {
  const auto [end, ignored] =
      std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return end == directory.end();
}

bool has_library(const fs::path& installation, const Machine& machine) {
  for (int minor = oldest_minor; minor < newest_minor; ++minor)
    if (machine.exists(library_of(installation, minor) / "os.py")) return true;
  return false;
}

// A home directory has more in it than a Python that was installed there.
bool is_home(const fs::path& installation, const Machine& machine) {
  const fs::path home = machine.home;
  return installation == "/root" || installation.parent_path() == "/home" ||
         (!home.empty() && (is_in(home, installation) || installation == home / ".local"));
}

void show_if_there(LauncherWords& words, const Machine& machine, const fs::path& path) {
  if (machine.exists(path)) words.show(path);
}

// Where the interpreter is that a virtual environment was made of: `home = /usr/bin`.
fs::path home_of(const fs::path& environment, const Machine& machine) {
  if (!machine.content_of) return {};
  std::istringstream lines(machine.content_of(environment / "pyvenv.cfg"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || line.substr(0, line.find_first_of(" =")) != "home") continue;
    const std::size_t begin = line.find_first_not_of(" \t", equals + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return {};
}

void show_installation(LauncherWords& words, const Machine& machine, const fs::path& installation,
                       const fs::path& program) {
  if (installation == "/") return;  // the system, which is shown, has links like /bin
  if (!has_library(installation, machine)) {
    words.show(program);
  } else if (is_home(installation, machine)) {
    show_if_there(words, machine, program);
    for (int minor = oldest_minor; minor < newest_minor; ++minor) {
      show_if_there(words, machine, library_of(installation, minor));
      show_if_there(words, machine,
                    installation / "lib" / ("libpython3." + std::to_string(minor) + ".so.1.0"));
    }
  } else {
    words.show(installation);
  }
}

// A project may be in the directory of its virtual environment, or be that directory.
void show_environment(LauncherWords& words, const Machine& machine, const fs::path& environment) {
  for (const char* name : {"bin", "lib", "lib64", "include", "share", "pyvenv.cfg"})
    show_if_there(words, machine, environment / name);
  const fs::path home = home_of(environment, machine);
  if (home.is_absolute() && has_library(home.parent_path(), machine))
    show_installation(words, machine, home.parent_path(), home / "python3");
}

}  // namespace

void LauncherWords::show(const fs::path& path) {
  if (path == "/" || std::any_of(shown_.begin(), shown_.end(),
                                 [&](const fs::path& shown) { return is_in(path, shown); }))
    return;
  shown_.push_back(path);
  add({"--ro-bind", path.string(), path.string()});
}

void show_system(LauncherWords& words, const Machine& machine) {
  words.show("/usr");
  // Since /usr holds the system, these are links into it; where they are directories, they are
  // shown as such.
  for (const std::string path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    if (const auto target = machine.link_target(path)) {
      words.add({"--symlink", *target, path});
    } else if (machine.exists(path)) {
      words.show(path);
    }
  }
  // What Python, its libraries and the dynamic linker read; nothing that tells of this machine's
  // users, keys or network.
  for (const std::string name :
       {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
        "/etc/timezone", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates",
        "/etc/alternatives", "/etc/mime.types", "/etc/services", "/etc/protocols", "/etc/fonts",
        "/etc/matplotlibrc", "/etc/python3", "/etc/python3.11", "/etc/python3.12",
        "/etc/python3.13"})
    if (machine.exists(name)) words.show(name);
  words.add({"--file", "/etc/passwd",
             "root:x:0:0::/:/usr/sbin/nologin\n"
             "sandbox:x:1000:1000::/workspace:/bin/sh\n"
             "nobody:x:65534:65534::/:/usr/sbin/nologin\n"});
  words.add({"--file", "/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"});
}

void show_python(LauncherWords& words, const Machine& machine, const fs::path& python) {
  // Each link on the way to the program: it may name the next by a path of its own.
  fs::path program = python;
  constexpr int most_links = 40;
  for (int links = 0; links < most_links; ++links) {
    const fs::path installation = program.parent_path().parent_path();
    if (machine.exists(installation / "pyvenv.cfg")) {
      show_environment(words, machine, installation);
    } else {
      show_installation(words, machine, installation, program);
    }
    const auto target = machine.link_target(program);
    if (!target) return;
    program = (program.parent_path() / *target).lexically_normal();
  }
}

}  // namespace hearth::native
