#include "backend/mount_check.h"

#include "base/error.h"
#include "os/trusted_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>

namespace hearth::backend {
namespace {

namespace fs = std::filesystem;

// Also where nothing is there yet, and on an engine's machine that has other links than this one.
constexpr std::array engine_sockets = {
    "/run/docker.sock",        "/var/run/docker.sock", "/run/containerd/containerd.sock",
    "/run/podman/podman.sock", "/run/crio/crio.sock",  "/run/buildkit/buildkitd.sock"};
constexpr std::array<std::string_view, 5> engine_socket_names = {
    "docker.sock", "podman.sock", "containerd.sock", "crio.sock", "buildkitd.sock"};
constexpr std::array kernel_trees = {"/proc", "/sys", "/dev"};
constexpr std::array<std::string_view, 17> kernel_file_systems = {
    "proc",     "sysfs",     "cgroup",      "cgroup2",    "devtmpfs", "devpts",
    "debugfs",  "tracefs",   "bpf",         "securityfs", "pstore",   "configfs",
    "efivarfs", "selinuxfs", "binfmt_misc", "fusectl",    "nsfs"};

bool is_at_or_below(std::string_view path, std::string_view tree) {
  if (!path.starts_with(tree)) return false;
  return path.size() == tree.size() || tree.ends_with('/') || path[tree.size()] == '/';
}

bool overlap(std::string_view one, std::string_view other) {
  return is_at_or_below(one, other) || is_at_or_below(other, one);
}

std::string real_path(const std::string& path) {
  std::error_code failed;
  const fs::path found = fs::weakly_canonical(path, failed);
  return failed ? path : found.string();
}

// The kernel writes blanks in paths as \040 and the like.
std::string unescaped(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size();
    path += is_escape ? static_cast<char>(std::stoi(std::string(text.substr(i + 1, 3)), nullptr, 8))
                      : text[i];
    if (is_escape) i += 3;
  }
  return path;
}

// ID PARENT MAJOR:MINOR ROOT MOUNT_POINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS
std::string kernel_mount_at(const std::string& source, const std::string& mount_table) {
  std::istringstream lines(mount_table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped;
    std::string point;
    words >> skipped >> skipped >> skipped >> skipped >> point;
    while (words >> skipped && skipped != "-") {
    }
    std::string type;
    words >> type;
    const bool is_kernels = std::find(kernel_file_systems.begin(), kernel_file_systems.end(),
                                      type) != kernel_file_systems.end();
    if (is_kernels && overlap(unescaped(point), source)) return unescaped(point);
  }
  return {};
}

bool has_engine_name(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return std::find(engine_socket_names.begin(), engine_socket_names.end(), name) !=
         engine_socket_names.end();
}

// Any user can have a name listed in /proc/net/unix: an abstract one, one with a line break, one in
// a mount namespace of its own. So the socket must be there, and be root's or this user's.
bool is_our_socket(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) &&
         (info.st_uid == 0 || info.st_uid == ::geteuid());
}

std::string engine_below(const std::string& source, const std::vector<std::string>& engines) {
  for (const std::string& path : engines)
    if (is_at_or_below(real_path(path), source)) return path;
  return {};
}

std::string content_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Error refusal(const std::string& source, const std::string& problem) {
  return Error("the mount of " + source + " is refused: " + problem);
}

// Without links: what is judged is what is mounted.
std::string resolved(const std::string& source, Mounter mounter) try {
  return mounter == Mounter::engine ? os::resolve_trusted_way(source)
                                    : os::resolve_trusted_links(source);
} catch (const os::UntrustedPath& reason) {
  const std::string why = mounter == Mounter::engine
                              ? "it is mounted as root, and another user could exchange it: "
                              : "it may lead anywhere by a link of another user: ";
  throw refusal(source, why + reason.what());
} catch (const OsError& error) {
  throw refusal(source, std::string("it cannot be looked at: ") + error.what());
}

std::string problem_of_type(const std::string& source) {
  struct stat info{};
  if (::lstat(source.c_str(), &info) != 0) return {};  // the backend will say so
  if (S_ISSOCK(info.st_mode)) return "it is a socket";
  if (S_ISBLK(info.st_mode) || S_ISCHR(info.st_mode)) return "it is a device";
  return {};
}

}  // namespace

// NUMBER: REFERENCES PROTOCOL FLAGS TYPE STATE INODE [PATH]
std::vector<std::string> listed_engines(const std::string& sockets) {
  std::vector<std::string> paths;
  std::istringstream lines(sockets);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped;
    for (int field = 0; field < 7; ++field) words >> skipped;
    std::string path;
    std::getline(words >> std::ws, path);
    if (path.starts_with('/') && has_engine_name(path)) paths.push_back(path);
  }
  return paths;
}

std::string problem_of_mount(const std::string& real_source, const std::vector<std::string>& hidden,
                             const std::string& mount_table,
                             const std::vector<std::string>& engines) {
  for (const std::string tree : kernel_trees)
    if (overlap(real_source, tree)) return "it would show " + tree;
  if (const std::string point = kernel_mount_at(real_source, mount_table); !point.empty())
    return "it would show a file system of the kernel (" + point + ")";
  for (const std::string socket : engine_sockets)
    if (is_at_or_below(socket, real_source))
      return "it would show a container engine's socket (" + socket + ")";
  if (const std::string socket = engine_below(real_source, engines); !socket.empty())
    return "it would show a container engine's socket (" + socket + ")";
  for (const std::string& path : hidden)
    if (!path.empty() && overlap(real_source, path))
      return "it would show " + path + ", which no sandbox may see";
  return {};
}

std::vector<blueprint::Mount> resolve_mounts(std::vector<blueprint::Mount> mounts,
                                             const std::vector<std::string>& hidden,
                                             Mounter mounter) {
  if (mounts.empty()) return mounts;
  std::vector<std::string> real_hidden;
  for (const std::string& path : hidden)
    if (!path.empty()) real_hidden.push_back(real_path(path));
  const std::string mount_table = content_of("/proc/self/mountinfo");
  std::vector<std::string> engines = listed_engines(content_of("/proc/net/unix"));
  std::erase_if(engines, [](const std::string& path) { return !is_our_socket(path); });
  for (blueprint::Mount& mount : mounts) {
    const std::string written = mount.source;
    if (!mount.is_engines) mount.source = resolved(written, mounter);
    const std::string judged = mount.is_engines ? real_path(written) : mount.source;
    std::string problem = problem_of_type(judged);
    if (problem.empty()) problem = problem_of_mount(judged, real_hidden, mount_table, engines);
    if (!problem.empty()) throw refusal(written, problem);
  }
  return mounts;
}

}  // namespace hearth::backend
