#include "settings/overrides.h"

#include "base/nearest.h"
#include "settings/settings_fields.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <type_traits>

extern char** environ;

namespace hearth::settings {
namespace {

namespace json = boost::json;

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& letter : upper) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return upper;
}

template <typename Field>
OverridableKey::Kind kind_of() {
  using Kind = OverridableKey::Kind;
  if (std::is_same_v<Field, std::int64_t>) return Kind::integer;
  if (std::is_same_v<Field, bool>) return Kind::boolean;
  if (std::is_same_v<Field, std::vector<std::string>>) return Kind::list;
  return Kind::text;
}

// Two have the names under which operators know them.
std::string variable_for(std::string_view section, std::string_view key) {
  const bool is_known =
      section == "session" && (key == "max_sandboxes" || key == "idle_timeout_ms");
  return is_known ? "HEARTH_" + upper_case(key)
                  : "HEARTH_" + upper_case(section) + '_' + upper_case(key);
}

std::vector<OverridableKey> list_keys() {
  std::vector<OverridableKey> keys;
  const Settings defaults;
  for_each_section(defaults, [&](std::string_view section, const auto& fields) {
    for_each_field(fields, [&]<typename Field>(std::string_view key, const Field&) {
      OverridableKey entry{
          .section = std::string(section), .key = std::string(key), .kind = kind_of<Field>()};
      entry.variable = variable_for(section, key);
      keys.push_back(std::move(entry));
    });
  });
  return keys;
}

json::array split(std::string_view text) {
  json::array elements;
  while (!text.empty()) {
    const std::size_t end = text.find(':');
    elements.emplace_back(json::string(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return elements;
}

// What reads as the kind that is expected becomes it; anything else is left for the decoder to
// judge.
json::value value_of(const OverridableKey& key, const std::string& text) {
  using Kind = OverridableKey::Kind;
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (key.kind == Kind::integer && read.ec == std::errc() && read.ptr == end) return number;
  if (key.kind == Kind::boolean && (text == "true" || text == "false")) return text == "true";
  if (key.kind == Kind::list) return split(text);
  return json::value(json::string(text));
}

class Overrider {
 public:
  Overrider(json::object& tree, OverrideResult& result) : tree_(tree), result_(result) {}

  void put(const OverridableKey& key, const std::string& text, std::string origin) {
    json::value& section = tree_[key.section];
    if (section.is_null()) section.emplace_object();
    // A section that is no table is reported by the decoder.
    if (json::object* table = section.if_object()) (*table)[key.key] = value_of(key, text);
    result_.origins[key.path()] = std::move(origin);
  }

  void apply_env(const Env& env) {
    for (const OverridableKey& key : overridable_keys()) {
      const auto found = env.find(key.variable);
      if (found != env.end()) put(key, found->second, key.variable);
    }
    warn_of_slips(env);
  }

  void apply_command_line(const std::vector<CommandLineSetting>& settings) {
    std::vector<std::string> known;
    for (const OverridableKey& key : overridable_keys()) known.push_back(key.path());
    for (const CommandLineSetting& setting : settings) {
      const auto key = std::find(known.begin(), known.end(), setting.key);
      if (key == known.end()) {
        result_.problems.push_back(
            {"--set " + setting.key, "is not a known key" + suggestion(setting.key, known)});
        continue;
      }
      put(overridable_keys()[static_cast<std::size_t>(key - known.begin())], setting.value,
          "--set " + setting.key);
    }
  }

 private:
  // A warning only: others (a cluster's service links, say) set variables that look like ours.
  void warn_of_slips(const Env& env) {
    std::vector<std::string> known;
    for (const OverridableKey& key : overridable_keys()) known.push_back(key.variable);
    for (const auto& [variable, unused] : env) {
      if (!variable.starts_with("HEARTH_") || variable == "HEARTH_CONFIG") continue;
      if (std::find(known.begin(), known.end(), variable) != known.end()) continue;
      if (const auto meant = nearest(variable, known))
        result_.warnings.push_back(variable + " is not a known setting; did you mean " + *meant +
                                   "?");
    }
  }

  json::object& tree_;
  OverrideResult& result_;
};

}  // namespace

const std::vector<OverridableKey>& overridable_keys() {
  static const std::vector<OverridableKey> keys = list_keys();
  return keys;
}

OverrideResult apply_overrides(json::object& tree, const Env& env,
                               const std::vector<CommandLineSetting>& command_line) {
  OverrideResult result;
  Overrider overrider(tree, result);
  overrider.apply_env(env);
  overrider.apply_command_line(command_line);
  return result;
}

Env current_env() {
  Env env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

}  // namespace hearth::settings
