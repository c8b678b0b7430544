// docker/container_spec.h: what the engine is told to make for a sandbox, and whether it did. A
// decision on values alone.
#pragma once

#include "blueprint/sandbox_config.h"
#include "docker/engine_address.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::docker {

// The group of all containers; their users differ. Not 1000, which on many hosts owns files that
// are bound in.
inline constexpr gid_t sandbox_gid = 10001;
// Where a container's /etc/passwd leads: the root is read-only, and its user is known only when it
// is created.
inline constexpr const char* user_directory = "/hearth/user";
// What init makes it from: the image's own list.
inline constexpr const char* image_passwd = "/hearth/passwd";

inline constexpr const char* owner_label = "hearth.owner";          // an installation
inline constexpr const char* instance_label = "hearth.instance";    // one process of it
inline constexpr const char* blueprint_label = "hearth.blueprint";  // a blueprint's name
inline constexpr const char* uid_label = "hearth.uid";              // the container's user

struct ContainerOrder {
  std::string image{};
  blueprint::SandboxConfig config{};
  std::vector<blueprint::Mount> mounts{};
  std::string runtime{};  // empty: the engine's default
  std::string seccomp_profile{};
  double host_cores = 1;             // the engine refuses more than it has
  bool limits_swap = true;           // whether the engine can
  std::vector<std::string> disks{};  // of the engine's machine: those whose reads are limited
  // Whether the engine can make what is mounted below a read-only directory read-only too
  // (API 1.44).
  bool has_recursive_read_only = false;
  // Whether each network namespace has the settings of newer kernels: no copies of packets with
  // time stamps, and how long TCP waits at most.
  bool has_new_network_settings = false;
  std::map<std::string, std::string> labels{};
};

// hearth-init with the harness. `options` are init's own.
std::vector<std::string> init_command(const std::vector<std::string>& preload,
                                      const std::vector<std::string>& writable,
                                      const std::vector<std::string>& options);
// What init can check under `runtime`: gVisor's /proc tells less than the kernel's.
std::string confinement_under(const std::string& runtime);

// By its version, as in "6.18.44-generic": older ones may lack them or have them for the machine.
bool has_new_network_settings(std::string_view kernel);

// The disks of the engine's machine, if their reads are to be limited. They are known only if that
// machine is this one: throws Error for an engine that may be on another.
std::vector<std::string> disks_to_limit(const blueprint::ResourceLimits& limits,
                                        const EngineAddress& engine);

boost::json::object container_body(const ContainerOrder& order, uid_t uid);

// The part of it that can be changed while it runs.
boost::json::object limits_body(const blueprint::ResourceLimits& limits, double host_cores);

// What the engine says of a container (GET /containers/ID/json) against what was ordered, in words;
// empty when it is so. An engine that does not know a setting leaves it out without a word, and an
// administrator may change a container that runs.
std::vector<std::string> differences_of(const boost::json::value& inspected,
                                        const ContainerOrder& order, uid_t uid);

}  // namespace hearth::docker
