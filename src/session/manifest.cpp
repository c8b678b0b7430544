#include "session/manifest.h"

#include "base/base64.h"
#include "base/json_escape.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

namespace hearth::session {
namespace {

namespace json = boost::json;

constexpr std::int64_t version = 1;

// A name need not be UTF-8, and JSON must be.
void append_bytes(std::string& out, std::string_view key, std::string_view bytes) {
  const bool as_text = is_utf8(bytes);
  out += ",\"";
  out += key;
  out += as_text ? "\":" : "_base64\":";
  if (as_text) return append_json_string(out, bytes);
  out += '"';
  append_base64(out, bytes);
  out += '"';
}

void append_entry(std::string& out, const ManifestEntry& entry) {
  out += "{\"type\":\"" + std::string(enum_name(entry.kind)) + '"';
  append_bytes(out, "path", entry.path);
  out += ",\"mode\":" + std::to_string(entry.mode);
  if (entry.kind == TreeKind::file) {
    out += ",\"size_bytes\":" + std::to_string(entry.size_bytes);
    append_bytes(out, "sha256", entry.content);
  } else if (entry.kind == TreeKind::symlink) {
    append_bytes(out, "target", entry.content);
  }
  out += "}\n";
}

// Throws what Boost.JSON throws, or std::bad_optional_access.
std::string bytes_in(const json::object& object, const std::string& key) {
  if (const json::value* text = object.if_contains(key)) return std::string(text->as_string());
  return decode_base64(std::string_view(object.at(key + "_base64").as_string())).value();
}

ManifestEntry entry_in(const json::object& object) {
  ManifestEntry entry;
  entry.kind = enum_value<TreeKind>(std::string_view(object.at("type").as_string())).value();
  entry.path = bytes_in(object, "path");
  entry.mode = object.at("mode").to_number<std::uint32_t>();
  if (entry.kind == TreeKind::file) {
    entry.size_bytes = object.at("size_bytes").to_number<std::uint64_t>();
    entry.content = bytes_in(object, "sha256");
  } else if (entry.kind == TreeKind::symlink) {
    entry.content = bytes_in(object, "target");
  }
  return entry;
}

void append_names(std::string& out, std::string_view key, const std::vector<std::string>& names) {
  if (names.empty()) return;
  json::array array;
  for (const std::string& name : names) array.emplace_back(json::string(name));
  out += ",\"" + std::string(key) + "\":" + json::serialize(array);
}

std::vector<std::string> names_in(const json::object& object, const char* key) {
  std::vector<std::string> names;
  if (const json::value* array = object.if_contains(key))
    for (const json::value& name : array->as_array()) names.emplace_back(name.as_string());
  return names;
}

std::string sum_line(std::string_view lines) {
  Sha256 sum;
  sum.add(lines);
  return "{\"manifest_sha256\":\"" + sum.finish() + "\"}\n";
}

std::vector<const ManifestEntry*> by_path(const Manifest& manifest) {
  std::vector<const ManifestEntry*> entries;
  entries.reserve(manifest.entries.size());
  for (const ManifestEntry& entry : manifest.entries) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const auto* one, const auto* other) { return one->path < other->path; });
  return entries;
}

}  // namespace

std::string to_text(const Manifest& manifest) {
  std::string text = "{\"version\":" + std::to_string(version) +
                     ",\"generation\":" + std::to_string(manifest.generation) +
                     ",\"archive_bytes\":" + std::to_string(manifest.archive_bytes) +
                     ",\"archive_sha256\":\"" + manifest.archive_sha256 +
                     "\",\"entries\":" + std::to_string(manifest.entries.size());
  if (!manifest.variables_sha256.empty())
    text += ",\"variables_sha256\":\"" + manifest.variables_sha256 + '"';
  append_names(text, "variables", manifest.variables);
  append_names(text, "lost_variables", manifest.lost_variables);
  text += "}\n";
  for (const ManifestEntry& entry : manifest.entries) append_entry(text, entry);
  text += sum_line(text);
  return text;
}

std::optional<Manifest> manifest_in(std::string_view text) try {
  if (!text.ends_with('\n')) return std::nullopt;
  const std::size_t before_last = text.substr(0, text.size() - 1).rfind('\n');
  if (before_last == std::string_view::npos) return std::nullopt;
  std::string_view lines = text.substr(0, before_last + 1);
  if (text.substr(lines.size()) != sum_line(lines)) return std::nullopt;

  const auto next_line = [&lines] {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    return json::parse(json::string_view(line)).as_object();
  };
  const json::object head = next_line();
  if (head.at("version").to_number<std::int64_t>() != version) return std::nullopt;
  Manifest manifest;
  manifest.generation = head.at("generation").to_number<std::int64_t>();
  manifest.archive_bytes = head.at("archive_bytes").to_number<std::uint64_t>();
  manifest.archive_sha256 = std::string(head.at("archive_sha256").as_string());
  if (const json::value* sum = head.if_contains("variables_sha256"))
    manifest.variables_sha256 = std::string(sum->as_string());
  manifest.variables = names_in(head, "variables");
  manifest.lost_variables = names_in(head, "lost_variables");
  while (!lines.empty()) manifest.entries.push_back(entry_in(next_line()));
  return manifest;
} catch (const std::exception&) {
  return std::nullopt;
}

std::string sum_of_pickle(const KeptVariables& variables) {
  if (variables.pickle.empty()) return {};
  Sha256 sum;
  sum.add(variables.pickle);
  return sum.finish();
}

bool same_content(const Manifest& one, const Manifest& other) {
  const auto ours = by_path(one);
  const auto theirs = by_path(other);
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](const auto* left, const auto* right) { return *left == *right; });
}

void ManifestBuilder::begin(const TreeEntry& entry) {
  end_file();
  const bool is_file = entry.kind == TreeKind::file;
  entries_.push_back({.path = entry.path,
                      .kind = entry.kind,
                      .size_bytes = is_file ? entry.size_bytes : 0,
                      .mode = entry.mode & 0777U,
                      .content = entry.target});
  if (is_file) digest_.emplace();
}

void ManifestBuilder::data(std::string_view bytes) { digest_->add(bytes); }

void ManifestBuilder::end_file() {
  if (!digest_) return;
  entries_.back().content = digest_->finish();
  digest_.reset();
}

std::vector<ManifestEntry> ManifestBuilder::finish() {
  end_file();
  return std::move(entries_);
}

}  // namespace hearth::session
