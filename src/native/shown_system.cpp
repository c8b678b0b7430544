#include "native/shown_system.h"

#include <algorithm>

namespace hearth::native {

namespace fs = std::filesystem;

namespace {

bool is_in(const fs::path& path, const fs::path& directory) {
  const auto [end, ignored] =
      std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return end == directory.end();
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
        "/etc/alternatives", "/etc/mime.types", "/etc/fonts", "/etc/matplotlibrc", "/etc/python3",
        "/etc/python3.11", "/etc/python3.12", "/etc/python3.13"})
    if (machine.exists(name)) words.show(name);
  words.add({"--file", "/etc/passwd",
             "root:x:0:0::/:/usr/sbin/nologin\n"
             "sandbox:x:1000:1000::/workspace:/bin/sh\n"
             "nobody:x:65534:65534::/:/usr/sbin/nologin\n"});
  words.add({"--file", "/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"});
}

void show_python(LauncherWords& words, const Machine& machine, const fs::path& python) {
  const fs::path installation = python.parent_path().parent_path();
  // A program in ~/bin does not make a home directory its installation.
  bool has_library = machine.exists(installation / "pyvenv.cfg");
  for (int minor = 8; minor < 40; ++minor)
    has_library |=
        machine.exists(installation / "lib" / ("python3." + std::to_string(minor)) / "os.py");
  words.show(has_library ? installation : python);
}

}  // namespace hearth::native
