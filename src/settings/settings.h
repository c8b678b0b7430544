// settings/settings.h: everything hearth.toml can say. hearth.example.toml explains each key; a
// test holds the two together.
#pragma once

#include "base/enum_names.h"
#include "base/log.h"
#include "blueprint/decode.h"
#include "blueprint/fields.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::settings {

struct LogSettings {
  log::Level level = log::Level::info;
  log::Format format = log::Format::text;
  bool operator==(const LogSettings&) const = default;
};

struct ServerSettings {
  std::string listen = "127.0.0.1:8080";
  bool operator==(const ServerSettings&) const = default;
};

struct StateSettings {
  std::string dir = "/var/lib/hearth";
  bool operator==(const StateSettings&) const = default;
};

enum class Backend { native, docker };
constexpr auto names_of(Backend /*type*/) {
  return enum_names<Backend>({{Backend::native, "native"}, {Backend::docker, "docker"}});
}

struct PoolSettings {
  Backend backend = Backend::native;  // what makes the sandboxes
  std::int64_t max_overflow = 10;     // started on demand above a blueprint's pool_size
  bool operator==(const PoolSettings&) const = default;
};

// How packages are installed into environments; see builder/pip_command.h.
struct BuilderSettings {
  std::string index_url{};                // empty: PyPI
  std::vector<std::string> find_links{};  // directories with wheels or source archives
  bool no_index = false;                  // only find_links
  bool allow_source_builds = false;       // source archives and direct references, too
  std::int64_t build_timeout_sec = 600;
  std::int64_t build_memory_mb = 4096;
  bool operator==(const BuilderSettings&) const = default;
};

enum class Zygote { shared, per_sandbox };
constexpr auto names_of(Zygote /*type*/) {
  return enum_names<Zygote>({{Zygote::shared, "shared"}, {Zygote::per_sandbox, "per_sandbox"}});
}

enum class LargePages { automatic, off };
constexpr auto names_of(LargePages /*type*/) {
  return enum_names<LargePages>({{LargePages::automatic, "auto"}, {LargePages::off, "off"}});
}

struct NativeSettings {
  bool allow_degraded = false;     // start sandboxes although the kernel lacks a protection
  Zygote zygote = Zygote::shared;  // what sandboxes are forked from
  LargePages large_pages = LargePages::automatic;  // for the interpreter's code and data
  bool operator==(const NativeSettings&) const = default;
};

// Sandboxes that are containers of a Docker engine.
struct DockerSettings {
  std::string host{};     // unix://PATH or tcp://LOOPBACK:PORT; empty: $DOCKER_HOST, else the usual
  std::string runtime{};  // runc, crun, runsc, ...; empty: the engine's default
  std::string base_image = "python:{version}-slim";
  std::string image_prefix = "hearth-sandbox-";
  std::string build_network{};  // while packages are installed; empty: the engine's default
  bool operator==(const DockerSettings&) const = default;
};

struct SessionSettings {
  std::int64_t max_sandboxes = 1000;
  std::int64_t idle_timeout_ms = 1'800'000;
  bool operator==(const SessionSettings&) const = default;
};

// Where a secret's value is read when it is needed. Exactly one is set.
struct SecretSource {
  std::optional<std::string> env{};
  std::optional<std::string> file{};
  bool operator==(const SecretSource&) const = default;
};

struct ToolDeclaration {
  blueprint::ToolConfig config{};
  std::string file{};
  bool operator==(const ToolDeclaration&) const = default;
};

struct Settings {
  LogSettings log{};
  ServerSettings server{};
  StateSettings state{};
  PoolSettings pool{};
  SessionSettings session{};
  BuilderSettings builder{};
  NativeSettings native{};
  DockerSettings docker{};
  // Paths as this process sees them to the same as the engine's machine does.
  std::map<std::string, std::string> host_path_map{};
  std::map<std::string, SecretSource> secrets{};
  std::vector<blueprint::SandboxConfig> blueprints{};
  std::vector<ToolDeclaration> tools{};
  bool operator==(const Settings&) const = default;
};

blueprint::Problems problems_of(const Settings& settings);

// A value in the place of a source gets the explanation it needs, and is never repeated.
void decode_value(blueprint::Decoder& decoder, const boost::json::value& value,
                  const blueprint::Path& path, SecretSource& out);

}  // namespace hearth::settings
