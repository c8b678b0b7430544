#include "docker/container_spec.h"

#include "base/error.h"
#include "blueprint/derived_limits.h"
#include "docker/json_path.h"

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace hearth::docker {
namespace {

namespace json = boost::json;

// As in sandboxes of the native backend: a file costs the kernel about a kilobyte.
constexpr std::int64_t bytes_per_inode = 4096;
constexpr std::int64_t scratch_bytes = std::int64_t{64} << 20;
constexpr std::int64_t shared_memory_bytes = std::int64_t{16} << 20;
// Init, the harness, the holder of a worker's memory and the process between two forks.
constexpr std::int64_t own_processes = 4;
constexpr std::int64_t megabyte = std::int64_t{1} << 20;

std::string tmpfs_options(std::int64_t bytes, const char* mode) {
  const std::string user = std::to_string(sandbox_uid);
  return "rw,exec,nosuid,nodev,size=" + std::to_string(bytes) +
         ",nr_inodes=" + std::to_string(bytes / bytes_per_inode) + ",mode=" + mode +
         ",uid=" + user + ",gid=" + user;
}

json::array ulimits(const blueprint::SandboxConfig& config) {
  json::array limits;
  const auto add = [&limits](const char* name, std::int64_t most) {
    limits.push_back({{"Name", name}, {"Soft", most}, {"Hard", most}});
  };
  add("core", 0);  // core_pattern may be a program of the host
  add("fsize", static_cast<std::int64_t>(blueprint::largest_file_bytes(config)));
  add("nofile", 1024);
  add("memlock", 64 << 10);
  add("sigpending", 1024);
  add("msgqueue", 0);
  add("rtprio", 0);
  add("nice", 0);
  return limits;
}

// Older engines leave what is mounted below a read-only directory writable: then it is not shown.
json::object bind_options(const blueprint::Mount& mount, bool has_recursive_read_only) {
  json::object options{{"Propagation", "rprivate"}};
  if (mount.read_only)
    options[has_recursive_read_only ? "ReadOnlyForceRecursive" : "NonRecursive"] = true;
  return options;
}

json::array binds(const ContainerOrder& order) {
  json::array list;
  for (const blueprint::Mount& mount : order.mounts)
    list.push_back({{"Type", "bind"},
                    {"Source", mount.source},
                    {"Target", mount.target},
                    {"ReadOnly", mount.read_only},
                    {"BindOptions", bind_options(mount, order.has_recursive_read_only)}});
  return list;
}

json::array environment() {
  return {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/workspace", "USER=sandbox", "LANG=C.UTF-8",
          "TMPDIR=/tmp"};
}

json::object host_config(const ContainerOrder& order) {
  const blueprint::SandboxConfig& config = order.config;
  json::object host = limits_body(config.resource_limits, order.host_cores);
  // Engines on cgroups of version 2 leave it out: there it is part of Memory.
  host["KernelMemoryTCP"] = static_cast<std::int64_t>(blueprint::socket_buffer_bytes(
      static_cast<std::uint64_t>(config.resource_limits.memory_mb * megabyte)));
  host["ReadonlyRootfs"] = true;
  host["CapDrop"] = json::array{"ALL"};
  host["SecurityOpt"] = json::array{"no-new-privileges:true", "seccomp=" + order.seccomp_profile};
  host["NetworkMode"] = "none";
  host["IpcMode"] = "private";
  host["CgroupnsMode"] = "private";
  host["OomScoreAdj"] = 500;  // when the machine runs out of memory, sandboxes are the first to go
  host["Tmpfs"] = {{"/workspace", tmpfs_options(config.scratch_size_mb * megabyte, "0700")},
                   {"/tmp", tmpfs_options(scratch_bytes, "0700")}};
  host["ShmSize"] = shared_memory_bytes;
  host["LogConfig"] = {{"Type", "none"}};  // what scripts say is nobody's log
  host["Ulimits"] = ulimits(config);
  host["Mounts"] = binds(order);
  host["RestartPolicy"] = {{"Name", "no"}};
  if (!order.runtime.empty()) host["Runtime"] = order.runtime;
  return host;
}

std::vector<std::string> writable_targets(const ContainerOrder& order) {
  std::vector<std::string> targets;
  for (const blueprint::Mount& mount : order.mounts)
    if (!mount.read_only) targets.push_back(mount.target);
  return targets;
}

bool has(const json::value& list, std::string_view wanted) {
  const json::array* array = list.if_array();
  return array != nullptr && std::any_of(array->begin(), array->end(), [&](const json::value& one) {
           return one.is_string() && one.get_string() == wanted;
         });
}

bool is_number(const json::value& value, const json::value& wanted) {
  return value.is_number() && value.to_number<std::int64_t>() == wanted.to_number<std::int64_t>();
}

// A volume of the base image would be a place on the host's disk that nobody limits or wipes.
bool has_only_ordered_mounts(const json::value& inspected, const ContainerOrder& order) {
  const json::array* mounts = at(inspected, {"Mounts"}).if_array();
  if (mounts == nullptr) return false;
  std::size_t bound = 0;
  for (const json::value& mount : *mounts) {
    const json::value& type = at(mount, {"Type"});
    if (type == json::value("bind")) ++bound;
    if (type == json::value("volume")) return false;
  }
  return bound == order.mounts.size();
}

bool is_filtered(const json::value& options) {
  const json::array* list = options.if_array();
  return list != nullptr && std::any_of(list->begin(), list->end(), [](const json::value& one) {
           return one.is_string() && one.get_string().starts_with("seccomp={");
         });
}

bool is_without_network(const json::value& inspected) {
  const json::object* networks = at(inspected, {"NetworkSettings", "Networks"}).if_object();
  return networks != nullptr && networks->size() == 1 && networks->contains("none");
}

}  // namespace

std::vector<std::string> init_command(const std::vector<std::string>& preload,
                                      const std::vector<std::string>& writable,
                                      const std::string& confined) {
  // -s: no packages of a user. Bytecode goes nowhere: the root is read-only.
  std::vector<std::string> words = {
      "/hearth/hearth-init",         "--confined", confined,          "--", "python3", "-s", "-B",
      "/hearth/executor_harness.py", "--path",     "/hearth/packages"};
  for (const std::string& module : preload) words.insert(words.end(), {"--preload", module});
  for (const std::string& path : writable) words.insert(words.end(), {"--writable", path});
  return words;
}

std::string confinement_under(const std::string& runtime) {
  const bool is_gvisor = runtime.starts_with("runsc");
  return is_gvisor ? "caps,user" : "caps,no-new-privs,seccomp,user,read-only";
}

json::object limits_body(const blueprint::ResourceLimits& limits, double host_cores) {
  const std::int64_t swap =
      limits.memory_swap_mb < 0 ? -1 : std::max(limits.memory_swap_mb, limits.memory_mb) * megabyte;
  const double cores = std::min(limits.cpu_quota, host_cores);
  return {{"Memory", limits.memory_mb * megabyte},
          {"MemorySwap", swap},
          {"NanoCpus", static_cast<std::int64_t>(std::llround(cores * 1e9))},
          {"PidsLimit", limits.pids_limit + own_processes}};
}

json::object container_body(const ContainerOrder& order) {
  const std::string user = std::to_string(sandbox_uid);
  json::object body;
  body["Image"] = order.image;
  body["Hostname"] = "sandbox";
  body["User"] = user + ':' + user;
  body["WorkingDir"] = "/workspace";
  body["Entrypoint"] = json::value_from(init_command(order.config.preload, writable_targets(order),
                                                     confinement_under(order.runtime)));
  body["Cmd"] = json::array();
  body["Env"] = environment();
  // Its standard input ends with our connection, and with that init and everything in it.
  for (const char* key : {"OpenStdin", "StdinOnce", "AttachStdin", "AttachStdout", "AttachStderr"})
    body[key] = true;
  body["StopSignal"] = "SIGKILL";
  // Nothing of the base image's runs beside init.
  body["Healthcheck"] = {{"Test", json::array{"NONE"}}};
  body["Labels"] = json::value_from(order.labels);
  body["HostConfig"] = host_config(order);
  return body;
}

std::vector<std::string> differences_of(const json::value& inspected, const ContainerOrder& order) {
  std::vector<std::string> found;
  const auto check = [&found](bool holds, const char* words) {
    if (!holds) found.emplace_back(words);
  };
  const json::value& host = at(inspected, {"HostConfig"});
  const json::object limits = limits_body(order.config.resource_limits, order.host_cores);
  check(at(inspected, {"State", "Running"}) == json::value(true) &&
            at(inspected, {"State", "Paused"}) != json::value(true),
        "it does not run");
  check(at(host, {"ReadonlyRootfs"}) == json::value(true), "its root can be written to");
  check(has(at(host, {"CapDrop"}), "ALL"), "it keeps capabilities");
  check(at(host, {"CapAdd"}).is_null() || at(host, {"CapAdd"}) == json::value(json::array()),
        "it was given capabilities");
  check(at(host, {"Privileged"}) == json::value(false), "it is privileged");
  check(has(at(host, {"SecurityOpt"}), "no-new-privileges:true"), "programs may gain privileges");
  check(is_filtered(at(host, {"SecurityOpt"})), "its system calls are not filtered as wanted");
  check(is_without_network(inspected), "it has a network");
  check(at(host, {"PidMode"}) == json::value(""), "it sees other processes");
  check(at(host, {"IpcMode"}) == json::value("private"), "it shares its messages and memory");
  check(has_only_ordered_mounts(inspected, order), "it has other mounts than were ordered");
  check(is_number(at(host, {"MemorySwap"}), limits.at("MemorySwap")),
        "its swap is not limited as wanted");
  check(is_number(at(host, {"Memory"}), limits.at("Memory")),
        "its memory is not limited as wanted");
  check(is_number(at(host, {"PidsLimit"}), limits.at("PidsLimit")),
        "its processes are not limited as wanted");
  check(is_number(at(host, {"NanoCpus"}), limits.at("NanoCpus")),
        "its CPU is not limited as wanted");
  return found;
}

void refuse_engine_socket(const std::vector<blueprint::Mount>& mounts, const std::string& socket) {
  const auto real = [](const std::string& path) {
    std::error_code failed;
    const std::filesystem::path found = std::filesystem::weakly_canonical(path, failed);
    return failed || path.empty() ? path : found.string();
  };
  for (const std::string& path :
       {real(socket), std::string("/var/run/docker.sock"), std::string("/run/docker.sock"),
        std::string("/run/containerd/containerd.sock")})
    for (const blueprint::Mount& mount : mounts) {
      const std::string source = real(mount.source);
      if (path.empty()) continue;
      const bool holds_it =
          path.starts_with(source) &&
          (path.size() == source.size() || source.ends_with('/') || path[source.size()] == '/');
      if (holds_it)
        throw Error("the mount of " + mount.source + " would show the Docker engine's socket (" +
                    path + ") to a sandbox");
    }
}

}  // namespace hearth::docker
