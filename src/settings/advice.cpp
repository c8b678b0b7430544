#include "settings/advice.h"

#include "base/nearest.h"
#include "blueprint/json_text.h"
#include "settings/field_path.h"
#include "settings/known_keys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace hearth::settings {
namespace {

namespace json = boost::json;
using blueprint::Path;

struct Synonym {
  std::string_view written;
  std::string_view section;  // where it was written, or a section inside it; empty: anywhere
  std::string_view meant;    // section and key
};

// What other programs call it. The first that fits counts.
constexpr std::array synonyms = std::to_array<Synonym>({
    {"packages", "blueprint", "blueprint.dependencies"},
    {"requirements", "blueprint", "blueprint.dependencies"},
    {"dependencies", "tool", "tool.packages"},
    {"requirements", "tool", "tool.packages"},
    {"timeout", "pool", "pool.checkout_timeout_ms"},
    {"timeout", "builder", "builder.build_timeout_sec"},
    {"memory", "builder", "builder.build_memory_mb"},
    {"memory", "pool", "pool.memory_budget_mb"},
    {"network", "docker", "docker.build_network"},
    {"sandbox", "tool", "tool.blueprints"},
    {"sandboxes", "tool", "tool.blueprints"},
    {"path", "tool", "tool.file"},
    {"timeout", "", "blueprint.resource_limits.execution_timeout_sec"},
    {"timeout_sec", "", "blueprint.resource_limits.execution_timeout_sec"},
    {"timeout_seconds", "", "blueprint.resource_limits.execution_timeout_sec"},
    {"memory", "", "blueprint.resource_limits.memory_mb"},
    {"memory_limit", "", "blueprint.resource_limits.memory_mb"},
    {"mem_limit", "", "blueprint.resource_limits.memory_mb"},
    {"swap", "", "blueprint.resource_limits.memory_swap_mb"},
    {"cpu", "", "blueprint.resource_limits.cpu_quota"},
    {"cpus", "", "blueprint.resource_limits.cpu_quota"},
    {"pids", "", "blueprint.resource_limits.pids_limit"},
    {"max_processes", "", "blueprint.resource_limits.pids_limit"},
    {"max_output", "", "blueprint.resource_limits.max_output_bytes"},
    {"limits", "", "blueprint.resource_limits"},
    {"resources_limits", "", "blueprint.resource_limits"},
    {"network", "", "blueprint.network_policy"},
    {"hosts", "", "blueprint.network_policy.allowed_hosts"},
    {"ports", "", "blueprint.network_policy.allowed_ports"},
    {"port", "", "blueprint.network_policy.default_port"},
    {"mounts", "", "blueprint.resources"},
    {"mount", "", "blueprint.resources"},
    {"volumes", "", "blueprint.resources"},
    {"files", "", "blueprint.resources"},
    {"source", "blueprint.resources", "blueprint.resources.host_path"},
    {"target", "blueprint.resources", "blueprint.resources.container_path"},
    {"mount_path", "blueprint.resources", "blueprint.resources.container_path"},
    {"path", "blueprint.resources", "blueprint.resources.container_path"},
    {"python", "", "blueprint.python_version"},
    {"version", "blueprint", "blueprint.python_version"},
    {"imports", "", "blueprint.preload"},
    {"modules", "", "blueprint.preload"},
    {"mode", "blueprint", "blueprint.execution_mode"},
    {"size", "blueprint", "blueprint.pool_size"},
    {"size", "pool", "blueprint.pool_size"},
    {"workspace_size_mb", "", "blueprint.scratch_size_mb"},
    {"image", "", "docker.base_image"},
    {"socket", "docker", "docker.host"},
    {"backend", "", "pool.backend"},
    {"log_level", "", "log.level"},
    {"state_dir", "", "state.dir"},
    {"sandbox", "", "blueprint"},
    {"sandboxes", "", "blueprint"},
});

// These say little without their section: such a key may mean anything elsewhere.
constexpr std::array<std::string_view, 9> plain_words{"name",  "file",   "dir",  "env",    "host",
                                                      "level", "format", "tool", "runtime"};

bool is_within(std::string_view section, std::string_view outer) {
  return outer.empty() || section == outer ||
         (section.starts_with(outer) && section.substr(outer.size()).starts_with('.'));
}

std::string_view first_part(std::string_view section) {
  return section.substr(0, section.find('.'));
}

struct Place {
  std::string section;
  std::string key;
};

// `blueprint[0].resource_limits.memory_mb` is memory_mb in blueprint.resource_limits.
Place place_of(const Path& key) {
  std::string section;
  for (const FieldStep& step : steps_of(key.parent == nullptr ? "" : key.parent->text()))
    if (!step.is_index) section = blueprint::member_of(section, step.key);
  return {std::move(section), std::string(key.key)};
}

const KnownKey* find_known(std::string_view path) {
  for (const KnownKey& known : known_keys()) {
    const std::string& section = known.section;
    if ((known.key.empty() ? section : blueprint::member_of(section, known.key)) == path)
      return &known;
  }
  return nullptr;
}

std::string belongs_to(const KnownKey& known, const Place& at) {
  if (known.key.empty()) return "; write " + known.header();
  const bool is_here = known.section == at.section;
  const std::string called = known.key == at.key ? "it" : known.key;
  if (is_here) return "; it is called " + known.key;
  return "; " + called + " belongs into " + known.header();
}

const KnownKey* find_synonym(const Place& at) {
  for (const Synonym& synonym : synonyms)
    if (synonym.written == at.key && is_within(at.section, synonym.section))
      return find_known(synonym.meant);
  return nullptr;
}

// The key as it is, in another section: one of the same first section before all others.
const KnownKey* find_elsewhere(const Place& at) {
  const KnownKey* found = nullptr;
  const bool is_plain =
      std::find(plain_words.begin(), plain_words.end(), at.key) != plain_words.end();
  for (const KnownKey& known : known_keys()) {
    const std::string_view last =
        known.key.empty() ? std::string_view(known.section).substr(known.section.rfind('.') + 1)
                          : std::string_view(known.key);
    if (last != at.key) continue;
    const bool is_near = first_part(known.section) == first_part(at.section);
    if (is_near) return &known;
    if (found == nullptr && (at.section.empty() || !is_plain)) found = &known;
  }
  return found;
}

std::string advice_on_key(const Path& key, const std::vector<std::string>& known) {
  const Place at = place_of(key);
  if (const KnownKey* meant = find_synonym(at)) return belongs_to(*meant, at);
  if (const KnownKey* meant = find_elsewhere(at)) return belongs_to(*meant, at);
  return suggestion(at.key, known);
}

std::string written(std::int64_t number) { return "; write " + std::to_string(number); }

std::string number_for(std::string_view text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<std::size_t>(read.ptr - text.data()));
  if (read.ec != std::errc() || !std::isfinite(number)) return {};
  if (rest.empty()) return "; write " + blueprint::print_number(number);
  if (rest == "%") return "; write " + blueprint::print_number(number / 100);
  return {};
}

std::string truth_for(const json::value& value) {
  constexpr std::array<std::string_view, 4> yes{"true", "yes", "on", "1"};
  constexpr std::array<std::string_view, 4> no{"false", "no", "off", "0"};
  std::string text;
  if (const json::string* string = value.if_string()) text = std::string_view(*string);
  if (const std::int64_t* number = value.if_int64()) text = std::to_string(*number);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) {
    return static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  });
  if (std::find(yes.begin(), yes.end(), text) != yes.end()) return "; write true";
  if (std::find(no.begin(), no.end(), text) != no.end()) return "; write false";
  return {};
}

std::string advice_on_kind(const json::value& value, const Path& path, std::string_view expected) {
  const json::string* text = value.if_string();
  if (expected == "a string" && value.is_number()) return "; write it in quotes";
  if (expected == "an integer" && text != nullptr) {
    const auto number = quantity(path.key, *text);
    return number ? written(*number) : std::string();
  }
  if (expected == "a number" && text != nullptr) return number_for(*text);
  if (expected == "true or false") return truth_for(value);
  if (expected == "a list" && text != nullptr) return "; write it in brackets, like [\"...\"]";
  const Place at = place_of(path.member(""));
  if (expected == blueprint::list_of_tables && value.is_object())
    return "; write [[" + at.section + "]], with two brackets";
  if (expected == "a table" && value.is_array() && !header_of(at.section).empty())
    return "; write " + header_of(at.section) + ", once";
  return {};
}

struct Unit {
  std::string_view suffix;  // of the key
  std::string_view name;
  double factor;
};

constexpr std::array units = std::to_array<Unit>({
    {"_mb", "m", 1},
    {"_mb", "mb", 1},
    {"_mb", "mib", 1},
    {"_mb", "g", 1024},
    {"_mb", "gb", 1024},
    {"_mb", "gib", 1024},
    {"_mb", "k", 1 / 1024.0},
    {"_mb", "kb", 1 / 1024.0},
    {"_sec", "s", 1},
    {"_sec", "sec", 1},
    {"_sec", "seconds", 1},
    {"_sec", "m", 60},
    {"_sec", "min", 60},
    {"_sec", "minutes", 60},
    {"_sec", "h", 3600},
    {"_sec", "ms", 1 / 1000.0},
    {"_ms", "ms", 1},
    {"_ms", "s", 1000},
    {"_ms", "sec", 1000},
    {"_ms", "m", 60'000},
    {"_ms", "min", 60'000},
    {"_bytes", "b", 1},
    {"_bytes", "k", 1024},
    {"_bytes", "kb", 1024},
    {"_bytes", "m", 1'048'576},
    {"_bytes", "mb", 1'048'576},
    {"_bytes", "g", 1'073'741'824},
    {"_bytes", "gb", 1'073'741'824},
});

double factor_of(std::string_view key, const std::string& unit) {
  if (unit.empty()) return 1;
  for (const Unit& known : units)
    if (key.ends_with(known.suffix) && unit == known.name) return known.factor;
  return 0;
}

}  // namespace

blueprint::Advice advice_for_toml() { return {advice_on_key, advice_on_kind}; }

std::optional<std::int64_t> quantity(std::string_view key, std::string_view text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || !(std::abs(number) < 1e15)) return std::nullopt;
  std::string unit;
  for (const char letter : text.substr(static_cast<std::size_t>(read.ptr - text.data())))
    if (letter != ' ')
      unit += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  const double product = number * factor_of(key, unit);
  const bool is_known = unit.empty() || factor_of(key, unit) > 0;
  if (!is_known || product != std::floor(product) || !(std::abs(product) < 1e15))
    return std::nullopt;
  return static_cast<std::int64_t>(product);
}

}  // namespace hearth::settings
