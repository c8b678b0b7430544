#include "settings/settings.h"

#include "base/joined.h"
#include "blueprint/checks.h"
#include "blueprint/python_names.h"
#include "blueprint/requirement.h"
#include "settings/settings_fields.h"

#include <unordered_map>

namespace hearth::settings {
namespace {

using blueprint::check_range;
using blueprint::element_of;
using blueprint::in_quotes;
using blueprint::member_of;
using blueprint::Problems;

constexpr std::string_view how_to_name_a_source =
    "name where it is read: { env = \"NAME\" } or { file = \"/path\" }";

// The kernel would silently take the part before it.
void check_no_nul(Problems& problems, const std::string& field, const std::string& path) {
  if (path.find('\0') != std::string::npos)
    problems.push_back({field, "holds a NUL byte, which no path can"});
}

// A name alone would be sent as credentials too.
bool has_credentials(std::string_view url) {
  const std::size_t host = url.find("://");
  const std::string_view rest = url.substr(host == std::string_view::npos ? 0 : host + 3);
  return rest.substr(0, rest.find('/')).find('@') != std::string_view::npos;
}

std::string problem_of_index_url(std::string_view url) {
  for (const char* scheme : {"https://", "http://", "file:///"}) {
    if (url.starts_with(scheme) && url.find_first_of(std::string_view(" \t\r\n\0", 5)) == url.npos)
      return {};
  }
  return "must be the URL of an index, like https://pypi.org/simple, is " + in_quotes(url);
}

void check_builder(Problems& problems, const BuilderSettings& builder) {
  if (has_credentials(builder.index_url)) {
    problems.push_back({.field = "builder.index_url",
                        .message = "has credentials in it, and no secret stands in a "
                                   "configuration; put them into the file that NETRC names",
                        .confidential = true});
  } else if (!builder.index_url.empty()) {
    if (std::string message = problem_of_index_url(builder.index_url); !message.empty())
      problems.push_back({"builder.index_url", std::move(message)});
  }
  for (std::size_t index = 0; index < builder.find_links.size(); ++index) {
    const std::string field = element_of("builder.find_links", index);
    if (builder.find_links[index].empty()) problems.push_back({field, "is empty"});
    check_no_nul(problems, field, builder.find_links[index]);
  }
  check_range(problems, "builder.build_timeout_sec", builder.build_timeout_sec, 1, 86'400);
  check_range(problems, "builder.build_memory_mb", builder.build_memory_mb, 64, 1'048'576);
}

// What the engine would refuse at the first build, in words that name no configuration. The name of
// a blueprint follows, which begins with a letter or digit.
bool is_image_prefix(const std::string& prefix) {
  return !prefix.empty() && prefix.size() <= 60 && blueprint::is_image_path(prefix + 'x');
}

bool is_image_name(const std::string& name) {
  return !name.empty() && name.find_first_of(std::string_view(" \t\r\n\0", 5)) == std::string::npos;
}

void check_docker(Problems& problems, const Settings& settings) {
  const DockerSettings& docker = settings.docker;
  if (!docker.host.empty() && !docker.host.starts_with("unix:///") &&
      !docker.host.starts_with("tcp://"))
    problems.push_back({"docker.host",
                        "must be like unix:///var/run/docker.sock or "
                        "tcp://127.0.0.1:2375, is " +
                            in_quotes(docker.host)});
  check_no_nul(problems, "docker.host", docker.host);
  if (!is_image_name(docker.base_image))
    problems.push_back({"docker.base_image", "must name an image, like python:{version}-slim, is " +
                                                 in_quotes(docker.base_image)});
  if (!docker.build_image.empty() && !is_image_name(docker.build_image))
    problems.push_back({"docker.build_image", "must name an image, like python:{version}, is " +
                                                  in_quotes(docker.build_image)});
  if (!is_image_prefix(docker.image_prefix))
    problems.push_back({"docker.image_prefix",
                        "must begin with a letter or digit, hold only a-z, 0-9, -, _, . and /, and "
                        "not two of the last three together; is " +
                            in_quotes(docker.image_prefix)});
  for (const auto& [ours, theirs] : settings.host_path_map) {
    const std::string field = member_of("host_path_map", ours);
    for (const std::string& path : {ours, theirs})
      if (!path.starts_with('/') || path.find('\0') != std::string::npos)
        problems.push_back({field, "maps one absolute path to another, not " + in_quotes(path)});
  }
}

void check_pool(Problems& problems, const PoolSettings& pool) {
  constexpr std::int64_t year_sec = 31'536'000;
  check_range(problems, "pool.max_overflow", pool.max_overflow, 0, 10'000);
  check_range(problems, "pool.max_uses", pool.max_uses, 0, 1'000'000'000);
  check_range(problems, "pool.checkout_timeout_ms", pool.checkout_timeout_ms, 0, year_sec * 1000);
  check_range(problems, "pool.memory_budget_mb", pool.memory_budget_mb, 0, 1'000'000'000);
  check_range(problems, "pool.idle_memory_mb", pool.idle_memory_mb, 1, 1'000'000);
  check_range(problems, "pool.max_age_sec", pool.max_age_sec, 1, year_sec);
  check_range(problems, "pool.probe_after_sec", pool.probe_after_sec, 1, year_sec);
  check_range(problems, "pool.replacement_delay_ms", pool.replacement_delay_ms, 0, 60'000);
}

void check_session(Problems& problems, const SessionSettings& session) {
  constexpr std::int64_t year_ms = 31'536'000'000;
  check_range(problems, "session.max_sandboxes", session.max_sandboxes, 1, 10'000'000);
  check_range(problems, "session.max_live", session.max_live, 1, 100'000);
  check_range(problems, "session.idle_timeout_ms", session.idle_timeout_ms, 1, year_ms);
  check_range(problems, "session.sweep_interval_ms", session.sweep_interval_ms, 1, year_ms);
  check_range(problems, "session.gone_for_sec", session.gone_for_sec, 0, year_ms / 1000);
  check_range(problems, "session.max_snapshot_mb", session.max_snapshot_mb, 1, 1'000'000);
  check_range(problems, "session.max_snapshot_files", session.max_snapshot_files, 1, 10'000'000);
  if (!session.snapshots_dir.empty() && !session.snapshots_dir.starts_with('/'))
    problems.push_back(
        {"session.snapshots_dir", "must be absolute, is " + in_quotes(session.snapshots_dir)});
  check_no_nul(problems, "session.snapshots_dir", session.snapshots_dir);
}

// user:password@host, or password=... as a parameter.
bool has_password(std::string_view url) {
  const std::size_t host = url.find("://");
  const std::string_view rest = url.substr(host == std::string_view::npos ? 0 : host + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  const std::size_t at = authority.rfind('@');
  return (at != std::string_view::npos && authority.substr(0, at).find(':') != authority.npos) ||
         rest.find("password=") != std::string_view::npos;
}

void check_store(Problems& problems, const StoreSettings& store) {
  check_range(problems, "store.time_limit_ms", store.time_limit_ms, 100, 600'000);
  if (store.url.empty()) return;
  if (has_password(store.url)) {
    problems.push_back({.field = "store.url",
                        .message = "has a password in it, and no secret stands in a configuration; "
                                   "put it into the file that PGPASSFILE names",
                        .confidential = true});
  } else if (!store.url.starts_with("postgres://") && !store.url.starts_with("postgresql://")) {
    problems.push_back({"store.url", "must be empty or like postgres://user@host/database, is " +
                                         in_quotes(store.url)});
  }
  check_no_nul(problems, "store.url", store.url);
}

void check_sections(Problems& problems, const Settings& settings) {
  if (!settings.state.dir.starts_with('/'))
    problems.push_back({"state.dir", "must be absolute, is " + in_quotes(settings.state.dir)});
  check_no_nul(problems, "state.dir", settings.state.dir);
  check_pool(problems, settings.pool);
  check_builder(problems, settings.builder);
  check_docker(problems, settings);
  check_session(problems, settings.session);
  check_store(problems, settings.store);
}

// Values are not repeated: the secret itself may stand in the wrong place.
void check_secrets(Problems& problems, const Settings& settings) {
  for (const auto& [name, source] : settings.secrets) {
    const std::string field = member_of("secrets", name);
    if (!blueprint::is_environment_name(name) || blueprint::is_owned_by_runtime(name))
      problems.push_back({.field = field,
                          .message = "is not a name that a secret may have (letters, digits and "
                                     "\"_\", and none that the runtime sets itself)",
                          .about_key = true});
    if (source.env && source.file)
      problems.push_back({field, "has two sources; leave one of env and file"});
    if (source.env && !blueprint::is_environment_name(*source.env))
      problems.push_back({field + ".env", "is not the name of an environment variable"});
    if (source.file && source.file->empty()) problems.push_back({field + ".file", "is empty"});
    if (source.file) check_no_nul(problems, field + ".file", *source.file);
  }
}

bool is_direct_reference(const std::string& package) try {
  return !blueprint::parse_requirement(package).url.empty();
} catch (const blueprint::RequirementError&) {
  return false;  // has a problem of its own
}

void check_direct_references(Problems& problems, const Settings& settings, const std::string& field,
                             const std::vector<std::string>& packages) {
  if (settings.builder.allow_source_builds) return;
  for (std::size_t index = 0; index < packages.size(); ++index)
    if (is_direct_reference(packages[index]))
      problems.push_back({element_of(field, index),
                          "is a direct reference, which may run code of its own while it is "
                          "installed; allow_source_builds = true in [builder] permits that"});
}

// Notes a name that an earlier element has already.
void check_repeated_name(Problems& problems, std::unordered_map<std::string, std::size_t>& seen,
                         std::string_view list, std::size_t index, const std::string& name) {
  const auto [first, is_new] = seen.emplace(name, index);
  if (is_new || name.empty()) return;
  problems.push_back(
      {element_of(list, index) + ".name",
       "repeats " + in_quotes(name) + ", the name of " + element_of(list, first->second)});
}

void check_blueprints(Problems& problems, const Settings& settings,
                      std::unordered_map<std::string, std::size_t>& names) {
  for (std::size_t index = 0; index < settings.blueprints.size(); ++index) {
    const blueprint::SandboxConfig& config = settings.blueprints[index];
    append_under(problems, element_of("blueprint", index), blueprint::problems_of(config));
    check_repeated_name(problems, names, "blueprint", index, config.name);
    check_direct_references(problems, settings, element_of("blueprint", index) + ".dependencies",
                            config.dependencies);
  }
}

// The one that was meant, or all if they are few.
std::string known_instead(const std::string& name, const std::vector<std::string>& known) {
  std::string meant = suggestion(name, known);
  if (!meant.empty() || known.empty() || known.size() > 5) return meant;
  return (known.size() == 1 ? "; there is " : "; there are ") + joined(known, ", ", in_quotes);
}

void check_tools(Problems& problems, const Settings& settings,
                 const std::unordered_map<std::string, std::size_t>& blueprints) {
  std::unordered_map<std::string, std::size_t> names;
  std::vector<std::string> known;
  known.reserve(settings.blueprints.size());
  for (const auto& config : settings.blueprints) known.push_back(config.name);
  for (std::size_t index = 0; index < settings.tools.size(); ++index) {
    const ToolDeclaration& tool = settings.tools[index];
    const std::string field = element_of("tool", index);
    append_under(problems, field, blueprint::problems_of(tool.config));
    check_repeated_name(problems, names, "tool", index, tool.config.name);
    if (tool.file.empty()) problems.push_back({field + ".file", "is missing"});
    check_no_nul(problems, field + ".file", tool.file);
    check_direct_references(problems, settings, field + ".packages", tool.config.packages);
    for (std::size_t at = 0; at < tool.config.blueprints.size(); ++at) {
      const std::string& name = tool.config.blueprints[at];
      if (blueprints.contains(name)) continue;
      problems.push_back(
          {element_of(field + ".blueprints", at),
           "names the unknown blueprint " + in_quotes(name) + known_instead(name, known)});
    }
  }
}

}  // namespace

Problems problems_of(const Settings& settings) {
  Problems problems;
  std::unordered_map<std::string, std::size_t> blueprint_names;
  check_sections(problems, settings);
  check_secrets(problems, settings);
  check_blueprints(problems, settings, blueprint_names);
  check_tools(problems, settings, blueprint_names);
  return problems;
}

void decode_value(blueprint::Decoder& decoder, const boost::json::value& value,
                  const blueprint::Path& path, SecretSource& out) {
  const boost::json::object* table = value.if_object();
  if (table == nullptr) {
    decoder.note(path, "must not be a value: no secret stands in a configuration; " +
                           std::string(how_to_name_a_source));
    return;
  }
  for_each_field(out, [&](std::string_view name, auto& field) {
    if (const boost::json::value* found = table->if_contains(name))
      decoder.read(*found, path.member(name), field);
  });
  decoder.note_unknown_keys(*table, path, {"env", "file"});
  if (!table->contains("env") && !table->contains("file"))
    decoder.note(path, "has no source; " + std::string(how_to_name_a_source));
}

}  // namespace hearth::settings
