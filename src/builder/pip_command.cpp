#include "builder/pip_command.h"

#include "base/error.h"
#include "base/nearest.h"
#include "blueprint/problem.h"
#include "blueprint/requirement.h"
#include "os/program_environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::array certificates = {"REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"};
constexpr std::array passed_on = {"REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"};
constexpr std::array proxies = {
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
};

constexpr std::string_view no_distribution = "No matching distribution found for ";

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    int code = 0;
    const char* digits = text.data() + at + 1;
    const bool is_escape = text[at] == '%' && at + 2 < text.size() &&
                           std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2;
    plain += is_escape ? static_cast<char>(code) : text[at];
    if (is_escape) at += 2;
  }
  return plain;
}

// Of `file:///path#fragment`; empty for what is elsewhere.
fs::path path_in(std::string_view url) {
  constexpr std::string_view scheme = "file://";
  if (!url.starts_with(scheme)) return {};
  url.remove_prefix(scheme.size());
  url = url.substr(0, url.find('#'));
  const std::size_t slash = url.find('/');
  if (slash == std::string_view::npos) return {};
  return without_escapes(url.substr(slash));
}

std::string url_in(const std::string& package) {
  try {
    return blueprint::parse_requirement(package).url;
  } catch (const blueprint::RequirementError&) {
    return {};  // pip will say what is wrong with it
  }
}

// Of `tiny_pkg-1.0-py3-none-any.whl` or `tiny_pkg-1.0.tar.gz`; empty if it is no such name.
std::string package_of(const std::string& archive) {
  const std::size_t dash = archive.ends_with(".whl") ? archive.find('-') : archive.rfind('-');
  try {
    return blueprint::parse_requirement(archive.substr(0, dash)).name;
  } catch (const blueprint::RequirementError&) {
    return {};
  }
}

// The package that a misspelt one, of which there is no distribution, stands for.
std::string nearest_in_find_links(const std::string& reason, const PipOptions& options) {
  if (!reason.starts_with(no_distribution)) return {};
  std::set<std::string> names;
  for (const fs::path& directory : options.find_links)
    for (const fs::path& archive : archives_in(directory, options))
      names.insert(package_of(archive.filename()));
  try {
    const std::string wanted =
        blueprint::parse_requirement(reason.substr(no_distribution.size())).name;
    if (names.contains(wanted)) return {};  // but no version of it that fits
    return nearest(wanted, std::vector(names.begin(), names.end())).value_or("");
  } catch (const blueprint::RequirementError&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> pip_arguments(const PipOptions& options,
                                       const std::filesystem::path& target,
                                       const std::filesystem::path& requirements) {
  std::vector<std::string> arguments = {
      "-I", "-u", "-m", "pip", "install", "--target", target, "--no-input",
      "--disable-pip-version-check", "--progress-bar", "off",
      // Of each request, for each package: the default of 5 takes 8 s to see that there is no
      // network.
      "--retries", "2",
      // A cache would have to be shared to be of use, grows without end, and gives back the wheel
      // it once built from a source archive in find_links even when that was replaced.
      "--no-cache-dir",
      "--no-compile",  // done once for everything, afterwards
      "--requirement", requirements};
  if (options.no_index) arguments.push_back("--no-index");
  if (!options.allow_source_builds) arguments.insert(arguments.end(), {"--only-binary", ":all:"});
  for (const std::filesystem::path& directory : options.find_links)
    arguments.insert(arguments.end(), {"--find-links", directory});
  return arguments;
}

std::vector<std::string> compile_arguments(const std::vector<std::filesystem::path>& trees) {
  std::vector<std::string> arguments = {
      "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"};
  arguments.insert(arguments.end(), trees.begin(), trees.end());
  return arguments;
}

std::vector<std::string> build_variables(const PipOptions& options,
                                         const std::filesystem::path& home,
                                         const std::filesystem::path& netrc) {
  const char* path = std::getenv("PATH");
  std::vector<std::string> variables = {
      "PATH=" + os::trusted_search_path(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin"),
      "HOME=" + home.string(),
      "TMPDIR=" + home.string(),
      "LANG=C.UTF-8",
      "PIP_CONFIG_FILE=/dev/null",
      // As variables because a pip that is too old for an option ignores its variable.
      "PIP_ROOT_USER_ACTION=ignore",
  };
  // Not an argument, which every user of the machine could read.
  if (!options.index_url.empty()) variables.push_back("PIP_INDEX_URL=" + options.index_url);
  if (!netrc.empty()) variables.push_back("NETRC=" + netrc.string());
  for (const char* name : passed_on) {
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + '=' + value);
  }
  for (const auto& [name, value] : proxy_variables()) variables.push_back(name + '=' + value);
  return variables;
}

std::vector<fs::path> files_of_pip(const PipOptions& options,
                                   const std::vector<std::string>& packages) {
  std::vector<fs::path> candidates = {path_in(options.index_url)};
  for (const fs::path& directory : options.find_links) {
    const std::vector<fs::path> archives = archives_in(directory, options);
    candidates.insert(candidates.end(), archives.begin(), archives.end());
  }
  for (const std::string& package : packages) candidates.push_back(path_in(url_in(package)));
  for (const char* name : certificates)
    if (const char* value = std::getenv(name)) candidates.emplace_back(value);
  std::vector<fs::path> files;
  for (const fs::path& candidate : candidates) {
    std::error_code ignored;
    if (candidate.is_absolute() && fs::exists(candidate, ignored))
      files.push_back(candidate.lexically_normal());
  }
  return files;
}

fs::path netrc_file() {
  const char* named = std::getenv("NETRC");
  std::error_code ignored;
  return named != nullptr && fs::is_regular_file(named, ignored) ? fs::path(named) : fs::path();
}

bool is_direct_reference(const std::string& package) { return !url_in(package).empty(); }

std::string problem_of(const PipOptions& options, const std::vector<std::string>& packages) {
  if (options.allow_source_builds) return {};
  const auto found = std::find_if(packages.begin(), packages.end(), is_direct_reference);
  if (found == packages.end()) return {};
  return "the package " + blueprint::in_quotes(blueprint::parse_requirement(*found).name) +
         " is a direct reference, which may run code of its own while it is installed; " +
         source_builds_key + " of hearth.toml permits that";
}

std::string hint_to(const std::string& reason, const PipOptions& options) {
  const std::string meant = nearest_in_find_links(reason, options);
  if (!meant.empty()) return " (find_links has " + meant + ")";
  if (options.allow_source_builds) return {};
  if (reason.find("Resource temporarily unavailable") != std::string::npos)
    return std::string(" (a package wants to run a program while it is installed; ") +
           source_builds_key + " of hearth.toml permits that)";
  if (!reason.starts_with(no_distribution)) return {};
  return " (only wheels are installed; if there is no wheel of " +
         reason.substr(no_distribution.size()) + " but a source archive, " + source_builds_key +
         " of hearth.toml permits to build it)";
}

std::string unreachable_index(std::string_view log) {
  for (const std::string_view reason :
       {"Name or service not known", "Temporary failure in name resolution",
        "No address associated with hostname", "Network is unreachable", "Connection refused",
        "No route to host", "Connection timed out", "connect timeout="})
    if (log.find(reason) != std::string_view::npos)
      return "the package index cannot be reached (" +
             std::string(reason.substr(0, reason.find('='))) +
             "); find_links and no_index in [builder] of hearth.toml work without network";
  return {};
}

std::map<std::string, std::string> proxy_variables() {
  std::map<std::string, std::string> variables;
  for (const char* name : proxies) {
    if (const char* value = std::getenv(name)) variables[name] = value;
  }
  return variables;
}

namespace {

// Name and content: a wheel that was replaced by one of the same size and time is another one.
void add_file(registry::Digest& digest, const fs::path& file) {
  constexpr std::size_t piece_bytes = 1 << 20;
  digest.add(file.filename().string());
  std::ifstream content(file, std::ios::binary);
  std::string piece(piece_bytes, '\0');
  do {
    content.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    digest.add(std::string_view(piece).substr(0, static_cast<std::size_t>(content.gcount())));
  } while (content);
  if (!content.eof()) throw Error("read " + file.string());
}

bool is_archive(const std::string& name, bool allow_source_archives) {
  constexpr std::array source_endings = {".tar.gz", ".tgz", ".zip", ".tar.bz2", ".tar.xz"};
  if (name.ends_with(".whl")) return true;
  return allow_source_archives &&
         std::any_of(source_endings.begin(), source_endings.end(),
                     [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

std::vector<fs::path> archives_in(const fs::path& directory, const PipOptions& options) {
  std::vector<fs::path> archives;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code gone;
    const bool is_file = entry->symlink_status(gone).type() == fs::file_type::regular;
    if (is_file && is_archive(entry->path().filename(), options.allow_source_builds))
      archives.push_back(entry->path());
  }
  std::sort(archives.begin(), archives.end());
  return archives;
}

void add_sources(registry::Digest& digest, const PipOptions& options) {
  digest.add(options.index_url);
  digest.add(options.no_index ? "no index" : "");
  digest.add(options.allow_source_builds ? "source builds" : "");
  digest.add_count(options.find_links.size());
  for (const fs::path& directory : options.find_links) {
    digest.add(directory.string());
    const std::vector<fs::path> archives = archives_in(directory, options);
    digest.add_count(archives.size());
    for (const fs::path& archive : archives) add_file(digest, archive);
  }
}

}  // namespace hearth::builder
