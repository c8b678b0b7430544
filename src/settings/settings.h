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

struct StateSettings {
  std::string dir = "/var/lib/hearth";
  bool operator==(const StateSettings&) const = default;
};

// Where 0 stands for a default, that depends on the backend or the machine.
struct PoolSettings {
  std::string backend = "native";             // what makes the sandboxes; see runtime/backends.h
  std::int64_t max_overflow = 10;             // started on demand above a blueprint's pool_size
  std::int64_t max_uses = 0;                  // leases of one sandbox, all of one owner
  std::int64_t checkout_timeout_ms = 30'000;  // for a sandbox, where a caller does not say
  std::int64_t memory_budget_mb = 0;          // for all sandboxes together
  std::int64_t idle_memory_mb = 4;            // what an idle sandbox is counted for
  std::int64_t max_age_sec = 3600;            // then an idle sandbox is replaced
  std::int64_t probe_after_sec = 60;          // idle for so long, it is checked
  std::int64_t replacement_delay_ms = 5;      // after a checkout that leaves others idle
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

// Where a container has the sources of its tools from.
enum class ToolPlace { image, mount };
constexpr auto names_of(ToolPlace /*type*/) {
  return enum_names<ToolPlace>({{ToolPlace::image, "image"}, {ToolPlace::mount, "mount"}});
}

// Sandboxes that are containers of a Docker engine.
struct DockerSettings {
  std::string host{};     // unix://PATH or tcp://LOOPBACK:PORT; empty: $DOCKER_HOST, else the usual
  std::string runtime{};  // runc, crun, runsc, ...; empty: the engine's default
  std::string base_image = "python:{version}-slim";
  // For packages without wheels; empty: base_image without "-slim", which has a compiler.
  std::string build_image{};
  std::string image_prefix = "hearth-sandbox-";
  std::string build_network{};  // while packages are installed; empty: the engine's default
  ToolPlace tools = ToolPlace::image;
  bool operator==(const DockerSettings&) const = default;
};

// Sessions outlive their sandboxes; see docs/sessions.md.
struct SessionSettings {
  std::int64_t max_sandboxes = 1000;         // sessions, live and cold together
  std::int64_t max_live = 100;               // of them with a sandbox
  std::int64_t idle_timeout_ms = 1'800'000;  // then one that waits is paused
  std::int64_t sweep_interval_ms = 60'000;   // how often that is looked at
  std::int64_t gone_for_sec = 86'400;        // how long one that is gone is remembered
  std::string snapshots_dir{};               // empty: below state.dir; may be shared
  std::int64_t max_snapshot_mb = 1024;       // all files of a workspace
  std::int64_t max_snapshot_files = 100'000;
  bool operator==(const SessionSettings&) const = default;
};

// Where the records of sessions are.
struct StoreSettings {
  std::string url{};                  // postgres://...; empty: SQLite, below state.dir
  std::int64_t time_limit_ms = 5000;  // for an answer of Postgres
  bool operator==(const StoreSettings&) const = default;
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
  StateSettings state{};
  PoolSettings pool{};
  BuilderSettings builder{};
  NativeSettings native{};
  DockerSettings docker{};
  SessionSettings session{};
  StoreSettings store{};
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
