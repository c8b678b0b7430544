#include "builder/use_records.h"

#include "blueprint/json_text.h"
#include "os/durable_files.h"
#include "os/trusted_path.h"

#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>

#include <algorithm>
#include <ctime>
#include <system_error>
#include <utility>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t most_record_bytes = 1'048'576;
constexpr std::int64_t seconds_between_notes = 3600;

UseRecord parsed(const std::string& text) {
  const json::value tree = blueprint::parse_json(text);
  UseRecord record;
  for (const auto& member : tree.at("configurations").as_object())
    record.by_configuration[std::string(member.key())] = {
        json::value_to<std::set<std::string>>(member.value().at("blueprints")),
        member.value().at("at").as_int64()};
  record.python = std::string(tree.at("python").as_string());
  record.packages = json::value_to<std::vector<std::string>>(tree.at("packages"));
  return record;
}

std::string printed(const UseRecord& record) {
  json::object configurations;
  for (const auto& [configuration, use] : record.by_configuration)
    configurations.emplace(
        configuration,
        json::object{{"blueprints", json::value_from(use.blueprints)}, {"at", use.at}});
  return blueprint::print_json(json::object{
             {"configurations", std::move(configurations)},
             {"python", record.python},
             {"packages", json::array(record.packages.begin(), record.packages.end())}}) +
         '\n';
}

}  // namespace

std::int64_t UseRecord::last_used() const {
  std::int64_t last = 0;
  for (const auto& [configuration, use] : by_configuration) last = std::max(last, use.at);
  return last;
}

std::vector<std::string> UseRecord::blueprints() const {
  std::set<std::string> names;
  for (const auto& [configuration, use] : by_configuration)
    names.insert(use.blueprints.begin(), use.blueprints.end());
  return {names.begin(), names.end()};
}

std::vector<std::string> UseRecord::configurations() const {
  std::vector<std::string> names;
  for (const auto& [configuration, use] : by_configuration) names.push_back(configuration);
  return names;
}

fs::path UseRecords::file_of(const std::string& key) const {
  return directory_ / ("record-" + key);
}

void UseRecords::note(const std::string& key, const std::string& blueprint,
                      const std::string& python, const std::vector<std::string>& packages) const {
  if (directory_.empty()) return;
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  const auto is_fresh = [&](const UseRecord::Use& use) {
    return use.blueprints.contains(blueprint) && now - use.at < seconds_between_notes;
  };
  // Most often nothing is to be written, and no other process is waited for.
  if (const auto record = find(key)) {
    const auto known = record->by_configuration.find(configuration_);
    if (known != record->by_configuration.end() && is_fresh(known->second)) return;
  }
  const auto lock = lock_records();
  UseRecord record = find(key).value_or(UseRecord{});
  UseRecord::Use& use = record.by_configuration[configuration_];
  use.blueprints.insert(blueprint);
  use.at = now;
  record.python = python;
  record.packages = packages;
  write(key, record);
}

// Two that write at the same time would lose what one of them knows.
std::optional<os::FileLock> UseRecords::lock_records() const {
  os::make_private_directory(directory_);
  return os::FileLock::acquire(directory_ / "records", {});
}

void UseRecords::write(const std::string& key, const UseRecord& record) const {
  os::replace_file(file_of(key), printed(record), 0600);
}

std::optional<UseRecord> UseRecords::find(const std::string& key) const {
  std::error_code failed;
  if (directory_.empty() || !fs::exists(file_of(key), failed)) return std::nullopt;
  try {
    return parsed(os::read_trusted_file(file_of(key), most_record_bytes));
  } catch (const std::exception&) {
    return std::nullopt;  // damaged: as if it had never been used
  }
}

bool UseRecords::is_ours_alone(const std::string& key) const {
  const std::optional<UseRecord> record = find(key);
  return record && record->by_configuration.size() == 1 &&
         record->by_configuration.contains(configuration_);
}

void UseRecords::forget(const std::string& key) const {
  if (!find(key)) return;
  const auto lock = lock_records();
  std::optional<UseRecord> record = find(key);
  if (record && record->by_configuration.erase(configuration_) > 0) write(key, *record);
}

void UseRecords::remove(const std::string& key) const {
  std::error_code ignored;
  if (!directory_.empty()) fs::remove(file_of(key), ignored);
}

}  // namespace hearth::builder
