#include "native/uid_range.h"

#include "base/error.h"
#include "base/log.h"
#include "os/trusted_path.h"

#include <random>
#include <string>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

// Above what distributions, directory services and other container engines hand out.
constexpr uid_t first_range = 0x70000000;
constexpr uid_t range_size = 1 << 16;
constexpr unsigned range_count = 2048;
// Inside, the low numbers have meanings.
constexpr uid_t first_sandbox_uid = 1000;

// The first that can be used. None in a container whose files are all read-only.
std::optional<fs::path> usable_of(const std::vector<fs::path>& directories) {
  std::string problems;
  for (const fs::path& directory : directories) {
    try {
      os::make_private_directory(directory);
      return directory;
    } catch (const Error& error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  log::warning("the users of sandboxes are chosen at random: no directory for claims can be used",
               {{"problems", problems}});
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> UidRangeClaim::usual_directories() {
  return {"/run/hearth/users", "/var/lib/hearth/users"};
}

UidRangeClaim::UidRangeClaim(const std::vector<fs::path>& directories) {
  const std::optional<fs::path> directory = usable_of(directories);
  unsigned index = directory ? 0 : std::random_device()() % range_count;
  for (; directory && index < range_count; ++index) {
    mark_ = os::FileLock::try_acquire(*directory / std::to_string(index));
    if (mark_) break;
  }
  if (index == range_count)
    throw Error("no range of users is free for sandboxes: other instances have taken all of them");
  range_ = {first_range + index * range_size, range_size};
}

UidPool::UidPool(const UidRange& range) {
  for (uid_t uid = first_sandbox_uid; uid < range.count; ++uid) free_.push_back(uid);
}

UidPool::Lease UidPool::take(const std::shared_ptr<UidPool>& pool) {
  if (pool->free_.empty()) throw Error("no user is free for another sandbox");
  const uid_t uid = pool->free_.front();
  pool->free_.pop_front();
  return {pool, uid};
}

}  // namespace hearth::native
