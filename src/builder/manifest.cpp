#include "builder/manifest.h"

#include "blueprint/json_text.h"

#include <boost/json/value.hpp>
#include <boost/json/value_to.hpp>

#include <sys/stat.h>

namespace hearth::builder {
namespace {

namespace json = boost::json;

constexpr std::int64_t format = 1;

}  // namespace

std::optional<FileIdentity> identity_of(const std::filesystem::path& file) {
  struct stat facts{};
  if (::stat(file.c_str(), &facts) != 0) return std::nullopt;
  return FileIdentity{.inode = facts.st_ino,
                      .size_bytes = facts.st_size,
                      .modified_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec};
}

std::string print_manifest(const Manifest& manifest) {
  const json::object python = {
      {"path", manifest.python.executable.string()},
      {"version", manifest.python.version},
      {"abi", manifest.python.abi},
      // As text: an inode may be larger than any integer that JSON's readers agree on.
      {"inode", std::to_string(manifest.python_file.inode)},
      {"size_bytes", manifest.python_file.size_bytes},
      {"modified_ns", std::to_string(manifest.python_file.modified_ns)}};
  const json::object tree = {
      {"format", format},
      {"checksum", manifest.checksum},
      {"python", python},
      {"packages", json::array(manifest.packages.begin(), manifest.packages.end())}};
  return blueprint::print_json(tree) + '\n';
}

std::optional<Manifest> parse_manifest(std::string_view text) {
  try {
    const json::value tree = blueprint::parse_json(text);
    if (tree.at("format").as_int64() != format) return std::nullopt;
    const json::value& python = tree.at("python");
    const auto text_of = [&](const char* key) { return std::string(python.at(key).as_string()); };
    return Manifest{.checksum = std::string(tree.at("checksum").as_string()),
                    .python = {text_of("path"), text_of("version"), text_of("abi")},
                    .python_file = {.inode = std::stoull(text_of("inode")),
                                    .size_bytes = python.at("size_bytes").as_int64(),
                                    .modified_ns = std::stoll(text_of("modified_ns"))},
                    .packages = json::value_to<std::vector<std::string>>(tree.at("packages"))};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace hearth::builder
