#include "docker/container_spec.h"

#include "backend/layout.h"
#include "base/error.h"
#include "blueprint/derived_limits.h"
#include "docker/json_path.h"
#include "os/disks.h"

#include <boost/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

namespace hearth::docker {
namespace {

constexpr const char* packages = "/hearth/packages";

namespace json = boost::json;
namespace layout = backend::layout;

constexpr std::int64_t shared_memory_bytes = std::int64_t{16} << 20;
constexpr std::int64_t own_processes = layout::own_processes + 1;  // the harness
constexpr std::int64_t megabyte = std::int64_t{1} << 20;
constexpr std::int64_t user_directory_bytes = std::int64_t{256} << 10;  // for one /etc/passwd
// The kernel lets a process send descriptors while its user has fewer in flight than this process
// may open. So init, which lowers it for scripts, can send when a script has spent all of its own.
constexpr std::int64_t script_files = 1024;
constexpr std::int64_t init_files = 4096;

std::string tmpfs_options(std::int64_t bytes, const char* mode, uid_t uid) {
  return "rw,exec,nosuid,nodev,size=" + std::to_string(bytes) +
         ",nr_inodes=" + std::to_string(bytes / layout::bytes_per_inode) + ",mode=" + mode +
         ",uid=" + std::to_string(uid) + ",gid=" + std::to_string(sandbox_gid);
}

std::string user_of(uid_t uid) { return std::to_string(uid) + ':' + std::to_string(sandbox_gid); }

json::array ulimits(const blueprint::SandboxConfig& config) {
  json::array limits;
  const auto add_two = [&limits](const char* name, std::int64_t soft, std::int64_t hard) {
    limits.push_back({{"Name", name}, {"Soft", soft}, {"Hard", hard}});
  };
  const auto add = [&](const char* name, std::int64_t most) { add_two(name, most, most); };
  // core_pattern may name a program of the host, which the kernel starts as root: not with 1.
  add("core", 1);
  add("fsize", static_cast<std::int64_t>(blueprint::largest_file_bytes(config)));
  add_two("nofile", script_files, init_files);
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
  json::array list;
  for (const auto& [name, value] : layout::env) list.emplace_back(std::string(name) + '=' + value);
  return list;
}

json::object tmpfs_mounts(const ContainerOrder& order, uid_t uid) {
  const std::int64_t workspace = order.config.scratch_size_mb * megabyte;
  return {{layout::workspace, tmpfs_options(workspace, "0700", uid)},
          {layout::temporary, tmpfs_options(layout::temporary_bytes, "0700", uid)},
          {user_directory, tmpfs_options(user_directory_bytes, "0755", uid)}};
}

json::array disk_limits(const ContainerOrder& order) {
  json::array list;
  for (const std::string& disk : order.disks)
    list.push_back(
        {{"Path", disk}, {"Rate", order.config.resource_limits.disk_read_mb_per_sec * megabyte}});
  return list;
}

// The engine's own list, and what isolate/mounts.cpp hides beside it.
json::array masked_paths() {
  return {"/proc/acpi",        "/proc/asound",  "/proc/fs",         "/proc/interrupts",
          "/proc/kcore",       "/proc/keys",    "/proc/locks",      "/proc/latency_stats",
          "/proc/sched_debug", "/proc/scsi",    "/proc/timer_list", "/proc/timer_stats",
          "/sys/firmware",     "/proc/pressure"};
}

// As in isolate/network.cpp, for its reasons. The engine does not start a container with a setting
// that its kernel has for the whole machine only.
json::object network_settings(const ContainerOrder& order) {
  json::object settings{{"net.ipv4.tcp_orphan_retries", "1"},
                        {"net.ipv4.tcp_rmem", "4096 65536 131072"},
                        {"net.core.somaxconn", "128"}};
  if (order.has_new_network_settings) {
    settings["net.ipv4.tcp_rto_max_ms"] = "1000";
    settings["net.core.tstamp_allow_data"] = "0";
  }
  return settings;
}

bool is_gvisor(std::string_view runtime) { return runtime.starts_with("runsc"); }

json::object host_config(const ContainerOrder& order, uid_t uid) {
  const blueprint::SandboxConfig& config = order.config;
  json::object host = limits_body(config.resource_limits, order.host_cores);
  host["ReadonlyRootfs"] = true;
  host["CapDrop"] = json::array{"ALL"};
  host["SecurityOpt"] = json::array{"no-new-privileges:true", "seccomp=" + order.seccomp_profile};
  host["NetworkMode"] = "none";
  if (!is_gvisor(order.runtime)) {  // it has a /proc and a network of its own
    host["MaskedPaths"] = masked_paths();
    host["Sysctls"] = network_settings(order);
  }
  host["IpcMode"] = "private";
  host["CgroupnsMode"] = "private";
  host["OomScoreAdj"] = 500;  // when the machine runs out of memory, sandboxes are the first to go
  host["Tmpfs"] = tmpfs_mounts(order, uid);
  host["ShmSize"] = shared_memory_bytes;
  host["LogConfig"] = {{"Type", "none"}};  // the output of scripts is not logged
  host["Ulimits"] = ulimits(config);
  host["Mounts"] = binds(order);
  host["RestartPolicy"] = {{"Name", "no"}};
  if (!order.runtime.empty()) host["Runtime"] = order.runtime;
  if (!order.disks.empty()) host["BlkioDeviceReadBps"] = disk_limits(order);
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

// An engine whose kernel does not count swap sets no limit. A blueprint that names none can live
// with that: see DockerEngine.
bool has_swap_limit(const json::value& limit, const ContainerOrder& order) {
  const blueprint::ResourceLimits& limits = order.config.resource_limits;
  if (is_number(limit, limits_body(limits, order.host_cores).at("MemorySwap"))) return true;
  return !order.limits_swap && limits.memory_swap_mb < 0 && is_number(limit, -1);
}

// An engine whose kernel cannot limit them drops them with a warning.
bool has_disk_limits(const json::value& limits, const ContainerOrder& order) {
  const json::array wanted = disk_limits(order);
  if (wanted.empty()) return true;
  const json::array* array = limits.if_array();
  return array != nullptr &&
         std::is_permutation(array->begin(), array->end(), wanted.begin(), wanted.end());
}

// A volume of the base image would be a place on the engine's disk without limits or clean-up.
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

bool has_new_network_settings(std::string_view kernel) {
  constexpr std::pair<unsigned, unsigned> first_known{6, 18};
  std::pair<unsigned, unsigned> version;
  const char* const end = kernel.data() + kernel.size();
  const char* const dot = std::from_chars(kernel.data(), end, version.first).ptr;
  if (dot == end || *dot != '.') return false;
  std::from_chars(dot + 1, end, version.second);
  return version >= first_known;
}

std::vector<std::string> init_command(const std::vector<std::string>& preload,
                                      const std::vector<std::string>& writable,
                                      const std::vector<std::string>& options) {
  std::vector<std::string> words = {"/hearth/hearth-init"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--packages", packages});
  // -s: no packages of a user. Bytecode goes nowhere: the root is read-only.
  words.insert(words.end(), {"--", "python3", "-s", "-B", layout::harness, "--path", packages});
  for (const std::string& module : preload) words.insert(words.end(), {"--preload", module});
  for (const std::string& path : writable) words.insert(words.end(), {"--writable", path});
  return words;
}

std::string confinement_under(const std::string& runtime) {
  return is_gvisor(runtime) ? "caps,user" : "caps,no-new-privs,seccomp,user,read-only";
}

json::object limits_body(const blueprint::ResourceLimits& limits, double host_cores) {
  const double cores = std::min(limits.cpu_quota, host_cores);
  return {{"Memory", limits.memory_mb * megabyte},
          {"MemorySwap", (limits.memory_mb + blueprint::swap_mb(limits)) * megabyte},
          {"NanoCpus", static_cast<std::int64_t>(std::llround(cores * 1e9))},
          {"PidsLimit", limits.pids_limit + own_processes}};
}

std::vector<std::string> disks_to_limit(const blueprint::ResourceLimits& limits,
                                        const EngineAddress& engine) {
  std::vector<std::string> devices;
  if (limits.disk_read_mb_per_sec == 0) return devices;
  if (engine.socket.empty())
    throw Error("resource_limits.disk_read_mb_per_sec cannot be kept here: the engine at " +
                engine.text() + " may be on another machine, whose disks are not known; " +
                "with a Unix socket it is on this one");
  for (const os::Disk& disk : os::disks()) devices.push_back(disk.device);
  return devices;
}

json::object container_body(const ContainerOrder& order, uid_t uid) {
  const std::vector<std::string> init_options = {"--confined", confinement_under(order.runtime),
                                                 "--passwd",
                                                 std::string(image_passwd) + ',' + user_directory};
  json::object body;
  body["Image"] = order.image;
  body["Hostname"] = layout::user;
  body["User"] = user_of(uid);
  body["WorkingDir"] = layout::workspace;
  body["Entrypoint"] =
      json::value_from(init_command(order.config.preload, writable_targets(order), init_options));
  body["Cmd"] = json::array();
  body["Env"] = environment();
  // Its standard input ends with our connection, and with that init and everything in it.
  for (const char* key : {"OpenStdin", "StdinOnce", "AttachStdin", "AttachStdout", "AttachStderr"})
    body[key] = true;
  body["StopSignal"] = "SIGKILL";
  // Nothing of the base image's runs beside init.
  body["Healthcheck"] = {{"Test", json::array{"NONE"}}};
  std::map<std::string, std::string> labels = order.labels;
  labels[uid_label] = std::to_string(uid);
  body["Labels"] = json::value_from(labels);
  body["HostConfig"] = host_config(order, uid);
  return body;
}

std::vector<std::string> differences_of(const json::value& inspected, const ContainerOrder& order,
                                        uid_t uid) {
  std::vector<std::string> found;
  const auto check = [&found](bool holds, const char* words) {
    if (!holds) found.emplace_back(words);
  };
  const json::value& host = at(inspected, {"HostConfig"});
  const json::object limits = limits_body(order.config.resource_limits, order.host_cores);
  check(at(inspected, {"State", "Running"}) == json::value(true) &&
            at(inspected, {"State", "Paused"}) != json::value(true),
        "it does not run");
  check(at(inspected, {"Config", "User"}) == json::value(user_of(uid)), "it runs as another user");
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
  check(has_swap_limit(at(host, {"MemorySwap"}), order), "its swap is not limited as wanted");
  check(is_number(at(host, {"Memory"}), limits.at("Memory")),
        "its memory is not limited as wanted");
  check(is_number(at(host, {"PidsLimit"}), limits.at("PidsLimit")),
        "its processes are not limited as wanted");
  check(is_number(at(host, {"NanoCpus"}), limits.at("NanoCpus")),
        "its CPU is not limited as wanted");
  check(has_disk_limits(at(host, {"BlkioDeviceReadBps"}), order),
        "its disk reads are not limited as wanted");
  return found;
}

}  // namespace hearth::docker
