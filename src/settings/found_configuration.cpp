#include "settings/found_configuration.h"

#include "settings/settings_fields.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace hearth::settings {
namespace {

namespace fs = std::filesystem;
using blueprint::element_of;
using blueprint::member_of;
using blueprint::Problems;

// Reads after a key's name.
std::string refusal(const std::string& what) {
  return what +
         ", which a configuration that was only found in the current directory may not; name it "
         "(--config hearth.toml, or HEARTH_CONFIG), or keep it in /etc/hearth";
}

bool is_real(const fs::path& path) {
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(path, failed);
  return !failed && real == path;
}

constexpr std::int64_t most_found_pids = 4096;
constexpr std::int64_t most_found_output_bytes = std::int64_t{256} << 20;

std::int64_t half_of_memory_mb() {
  constexpr std::int64_t half_mb = std::int64_t{2} << 20;
  return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE) / half_mb;
}

class Review {
 public:
  explicit Review(const fs::path& directory) : directory_(fs::weakly_canonical(directory)) {}

  Problems take() { return std::move(problems_); }

  void refuse(std::string field, const std::string& what) {
    problems_.push_back({std::move(field), refusal(what)});
  }

  void require_inside(std::string field, const fs::path& path) {
    std::error_code failed;
    const fs::path real = fs::weakly_canonical(path, failed);
    const auto [end, unused] =
        std::mismatch(directory_.begin(), directory_.end(), real.begin(), real.end());
    if (failed || end != directory_.end())
      refuse(std::move(field), "reaches outside of " + directory_.string());
  }

  void look_at_sections(const Settings& settings) {
    const Settings defaults;
    // Its sandboxes are weaker, and images are shared with other configurations.
    if (settings.pool.backend != defaults.pool.backend) refuse("pool.backend", "chooses a backend");
    // A state directory that came with a repository may hold anything, links out of it included.
    if (settings.state.dir != defaults.state.dir) refuse("state.dir", "brings files of its own");
    if (settings.native.allow_degraded) refuse("native.allow_degraded", "weakens sandboxes");
    if (!settings.docker.host.empty()) refuse("docker.host", "chooses an engine");
    if (!settings.docker.runtime.empty()) refuse("docker.runtime", "chooses a runtime");
    if (settings.docker.base_image != defaults.docker.base_image)
      refuse("docker.base_image", "chooses what runs while packages are installed");
    if (!settings.docker.build_image.empty())
      refuse("docker.build_image", "chooses what runs while packages are installed");
    if (settings.docker.tools != defaults.docker.tools)
      refuse("docker.tools", "chooses what the engine mounts");
    if (settings.docker.image_prefix != defaults.docker.image_prefix)
      refuse("docker.image_prefix", "chooses the names of images");
    if (!settings.docker.build_network.empty())
      refuse("docker.build_network", "chooses a network of the engine");
    // They belong to the user, not to a repository: a smaller limit would delete some.
    require_defaults("session", settings.session, "decides about all sessions of this user");
    require_defaults("store", settings.store, "decides about all sessions of this user");
    for (const auto& [ours, unused] : settings.host_path_map)
      refuse(member_of("host_path_map", ours), "names a path of the engine's machine");
    look_at_builder(settings.builder);
  }

  void look_at_secrets(const Settings& settings) {
    for (const auto& [name, source] : settings.secrets) {
      const std::string field = member_of("secrets", name);
      if (source.file) require_inside(field + ".file", *source.file);
      if (source.env) refuse(field + ".env", "passes a variable of your environment on");
    }
    for (std::size_t index = 0; index < settings.blueprints.size(); ++index)
      look_at_names(element_of("blueprint", index) + ".secrets", settings.blueprints[index].secrets,
                    settings);
    for (std::size_t index = 0; index < settings.tools.size(); ++index)
      look_at_names(element_of("tool", index) + ".secrets", settings.tools[index].config.secrets,
                    settings);
  }

  // One of a repository may not take the machine from its user.
  void look_at_limits(const Settings& settings) {
    const std::int64_t half_mb = half_of_memory_mb();
    const auto look = [&](std::string field, std::int64_t given, std::int64_t usual,
                          std::int64_t most, const std::string& what) {
      if (given > most && given > usual) refuse(std::move(field), what);
    };
    const std::string too_much = "takes more than half of this machine's memory";
    look("pool.memory_budget_mb", settings.pool.memory_budget_mb, 0, half_mb, too_much);
    look("builder.build_memory_mb", settings.builder.build_memory_mb,
         BuilderSettings{}.build_memory_mb, half_mb, too_much);
    const blueprint::SandboxConfig usual;
    const blueprint::ResourceLimits& least = usual.resource_limits;
    for (std::size_t index = 0; index < settings.blueprints.size(); ++index) {
      const blueprint::SandboxConfig& config = settings.blueprints[index];
      const std::string field = element_of("blueprint", index) + '.';
      const std::string limits = field + "resource_limits.";
      const blueprint::ResourceLimits& given = config.resource_limits;
      look(limits + "memory_mb", given.memory_mb, least.memory_mb, half_mb, too_much);
      look(limits + "memory_swap_mb", given.memory_swap_mb, given.memory_mb, half_mb, too_much);
      look(field + "scratch_size_mb", config.scratch_size_mb, usual.scratch_size_mb, half_mb,
           too_much);
      look(limits + "pids_limit", given.pids_limit, least.pids_limit, most_found_pids,
           "lets a script start more than " + std::to_string(most_found_pids) + " processes");
      // Hearth keeps it, in memory that counts for no sandbox.
      look(limits + "max_output_bytes", given.max_output_bytes, least.max_output_bytes,
           most_found_output_bytes, "lets Hearth keep more than 256 MiB of output");
    }
  }

  void look_at_files(const Settings& settings) {
    for (std::size_t index = 0; index < settings.tools.size(); ++index)
      require_inside(element_of("tool", index) + ".file", settings.tools[index].file);
    for (std::size_t index = 0; index < settings.blueprints.size(); ++index) {
      const auto& resources = settings.blueprints[index].resources;
      for (std::size_t at = 0; at < resources.size(); ++at) {
        const std::string field = element_of(element_of("blueprint", index) + ".resources", at);
        require_inside(field + ".host_path", resources[at].host_path);
        // An engine follows links anew, and /proc/self means another process to it.
        if (const fs::path path = resources[at].host_path; !is_real(path))
          refuse(field + ".host_path", "names a path through a link");
        // Its directory may hold files that are executed later: hooks of git, this configuration.
        if (!resources[at].read_only) refuse(field + ".read_only", "lets scripts change files");
        if (resources[at].docker_host_path)
          refuse(field + ".docker_host_path", "names a path of the engine's machine");
      }
    }
  }

 private:
  // Of each key of a section that differs.
  template <typename Section>
  void require_defaults(const std::string& section, const Section& given, const char* what) {
    const Section defaults;
    for_each_field(given, [&](const char* key, const auto& value) {
      for_each_field(defaults, [&](const char* other, const auto& usual) {
        if constexpr (std::is_same_v<decltype(value), decltype(usual)>)
          if (std::string_view(key) == other && value != usual) refuse(section + '.' + key, what);
      });
    });
  }

  // A key that lets code run outside of a sandbox is to be refused here.
  void look_at_builder(const BuilderSettings& builder) {
    if (!builder.index_url.empty())
      refuse("builder.index_url", "chooses where packages come from and credentials go");
    for (std::size_t index = 0; index < builder.find_links.size(); ++index)
      require_inside(element_of("builder.find_links", index), builder.find_links[index]);
    // The metadata of a wheel may name any address, which pip asks with the credentials of NETRC.
    if (!builder.find_links.empty() && !builder.no_index)
      refuse("builder.find_links",
             "lets wheels choose where further packages come from, as long as "
             "no_index = true is missing");
    if (builder.allow_source_builds)
      refuse("builder.allow_source_builds", "lets packages run code while they are installed");
  }

  // A secret without an entry is the variable of its own name.
  void look_at_names(const std::string& list, const std::vector<std::string>& names,
                     const Settings& settings) {
    for (std::size_t index = 0; index < names.size(); ++index)
      if (!settings.secrets.contains(names[index]))
        refuse(element_of(list, index), "passes a variable of your environment on");
  }

  fs::path directory_;
  Problems problems_;
};

}  // namespace

Problems problems_of_found_configuration(const Settings& settings, const fs::path& directory) {
  Review review(directory);
  review.look_at_sections(settings);
  review.look_at_secrets(settings);
  review.look_at_files(settings);
  review.look_at_limits(settings);
  return review.take();
}

}  // namespace hearth::settings
