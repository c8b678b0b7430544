#include "builder/environment_store.h"

#include "builder/manifest.h"
#include "builder/workshop.h"
#include "os/trusted_path.h"

#include <chrono>
#include <system_error>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;
using Kind = os::FileLock::Kind;

constexpr std::size_t most_manifest_bytes = 1'048'576;

fs::path use_lock_of(const BuildOptions& options, const std::string& checksum) {
  return prepare_locks(options) / ("use-" + checksum);
}

std::uint64_t size_of(const fs::path& tree) {
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(tree, ignored))
    if (entry.is_regular_file(ignored) && !entry.is_symlink(ignored))
      bytes += entry.file_size(ignored);
  return bytes;
}

std::int64_t changed_at(const fs::path& file) {
  std::error_code failed;
  const fs::file_time_type time = fs::last_write_time(file, failed);
  if (failed) return 0;
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

bool is_in_use(const BuildOptions& options, const std::string& checksum) {
  return !os::FileLock::try_acquire(use_lock_of(options, checksum)).has_value();
}

// A name as long as a checksum with a manifest in it.
std::vector<fs::path> environments_in(const fs::path& environments) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(environments, none))
    if (!entry.path().filename().string().starts_with('.') && fs::exists(entry.path() / "manifest"))
      found.push_back(entry.path());
  if (!none) os::require_trusted(environments);
  return found;
}

// Earlier versions had their locks beside the environments, where any user could hold them.
void remove_old_locks(const fs::path& environments) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(environments, ignored))
    if (entry.path().filename().string().starts_with(".lock-")) fs::remove(entry.path(), ignored);
}

// Renamed first: no process ever finds half of an environment.
void remove_environment(const fs::path& environments, const fs::path& place) {
  const Workshop workshop(environments);
  fs::rename(place, workshop.path() / "old");
}

}  // namespace

std::optional<os::FileLock> use_environment(const BuildOptions& options,
                                            const std::string& checksum,
                                            const std::stop_token& stop) {
  prepare_environments(options);
  return os::FileLock::acquire(use_lock_of(options, checksum), stop, Kind::shared);
}

std::optional<os::FileLock> own_environment(const BuildOptions& options,
                                            const std::string& checksum) {
  prepare_environments(options);
  return os::FileLock::try_acquire(use_lock_of(options, checksum));
}

UseRecords records_of(const BuildOptions& options) {
  return {options.state_dir / "locks", options.configuration};
}

std::vector<Built> list_environments(const BuildOptions& options,
                                     const std::set<std::string>& wanted) {
  const fs::path environments = options.state_dir / "environments";
  std::vector<Built> list;
  for (const fs::path& place : environments_in(environments)) {
    const std::string checksum = place.filename();
    const auto manifest =
        parse_manifest(os::read_trusted_file(place / "manifest", most_manifest_bytes));
    if (!manifest) continue;  // none of ours
    const UseRecord record = records_of(options).find(checksum).value_or(UseRecord{});
    list.push_back({.name = place,
                    .blueprints = record.blueprints(),
                    .checksum = checksum,
                    .python = manifest->python.version,
                    .packages = manifest->packages,
                    .configurations = record.configurations(),
                    .last_used = record.last_used(),
                    .size_bytes = size_of(place),
                    .created = changed_at(place / "manifest"),
                    .is_wanted = wanted.contains(checksum),
                    .is_in_use = is_in_use(options, checksum)});
  }
  return list;
}

std::vector<std::string> prune_environments(const BuildOptions& options,
                                            const std::set<std::string>& wanted, Prune how) {
  const fs::path environments = options.state_dir / "environments";
  const UseRecords records = records_of(options);
  std::vector<std::string> removed;
  const std::vector<fs::path> places = environments_in(environments);
  if (!how.is_dry_run) remove_old_locks(environments);
  for (const fs::path& place : places) {
    const std::string checksum = place.filename();
    if (wanted.contains(checksum)) continue;
    const auto unused = own_environment(options, checksum);
    if (!unused) continue;
    // With `all` also one without a record: the directory is this installation's.
    if (how.all || records.is_ours_alone(checksum)) {
      removed.push_back(place);
      if (how.is_dry_run) continue;
      remove_environment(environments, place);
      records.remove(checksum);
    } else if (!how.is_dry_run) {
      records.forget(checksum);
    }
  }
  return removed;
}

}  // namespace hearth::builder
