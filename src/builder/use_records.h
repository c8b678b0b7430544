// builder/use_records.h: which configurations an environment was used for, and when last. A small
// file beside the locks for each environment of this installation, written when a process first
// uses the environment, and not again within an hour.
#pragma once

#include "os/file_lock.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hearth::builder {

struct UseRecord {
  struct Use {
    std::set<std::string> blueprints{};
    std::int64_t at = 0;  // seconds since 1970
  };
  std::map<std::string, Use> by_configuration{};
  std::string python{};  // its version, and the packages that were asked for
  std::vector<std::string> packages{};

  std::int64_t last_used() const;
  std::vector<std::string> blueprints() const;      // each once
  std::vector<std::string> configurations() const;  // "" stands for none
};

class UseRecords {
 public:
  // `configuration`: the path of the hearth.toml in use; empty: there is none. Without `directory`
  // nothing is recorded.
  UseRecords(std::filesystem::path directory, std::string configuration)
      : directory_(std::move(directory)), configuration_(std::move(configuration)) {}

  // `key` names the environment: a checksum, an image's id. OsError with a path.
  void note(const std::string& key, const std::string& blueprint, const std::string& python,
            const std::vector<std::string>& packages) const;
  // Nothing where this installation never used it.
  std::optional<UseRecord> find(const std::string& key) const;

  // True if no other configuration used it.
  bool is_ours_alone(const std::string& key) const;
  // This configuration no longer counts as a user of it.
  void forget(const std::string& key) const;
  // The environment is gone.
  void remove(const std::string& key) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;
  std::optional<os::FileLock> lock_records() const;
  void write(const std::string& key, const UseRecord& record) const;

  std::filesystem::path directory_;
  std::string configuration_;
};

}  // namespace hearth::builder
