#include "builder/pip_command.h"

#include <array>
#include <cstdlib>

namespace hearth::builder {
namespace {

constexpr std::array passed_on = {
    "REQUESTS_CA_BUNDLE", "NETRC", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
};
constexpr std::array proxies = {
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
};

}  // namespace

std::vector<std::string> pip_arguments(const PipOptions& options,
                                       const std::filesystem::path& target,
                                       const std::filesystem::path& requirements) {
  std::vector<std::string> arguments = {
      "-I", "-u", "-m", "pip", "install", "--target", target, "--no-input",
      "--disable-pip-version-check", "--progress-bar", "off",
      // A cache would have to be shared to be of use, grows without end, and gives back the wheel
      // it once built from a source archive in find_links even when that was replaced.
      "--no-cache-dir",
      "--no-compile",  // done once for everything, afterwards
      "--requirement", requirements};
  if (options.no_index) arguments.push_back("--no-index");
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
                                         const std::filesystem::path& home) {
  const char* path = std::getenv("PATH");
  std::vector<std::string> variables = {
      std::string("PATH=") + (path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin"),
      "HOME=" + home.string(),
      "TMPDIR=" + home.string(),
      "LANG=C.UTF-8",
      "PIP_CONFIG_FILE=/dev/null",
      // As variables because a pip that is too old for an option ignores its variable.
      "PIP_ROOT_USER_ACTION=ignore",
  };
  // Not an argument, which every user of the machine could read.
  if (!options.index_url.empty()) variables.push_back("PIP_INDEX_URL=" + options.index_url);
  for (const char* name : passed_on) {
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + '=' + value);
  }
  for (const auto& [name, value] : proxy_variables()) variables.push_back(name + '=' + value);
  return variables;
}

std::map<std::string, std::string> proxy_variables() {
  std::map<std::string, std::string> variables;
  for (const char* name : proxies) {
    if (const char* value = std::getenv(name)) variables[name] = value;
  }
  return variables;
}

}  // namespace hearth::builder
