#include "native/uid_range.h"

#include "base/error.h"
#include "base/joined.h"
#include "base/log.h"
#include "os/trusted_path.h"

#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

// Inside, the low numbers have meanings.
constexpr uid_t first_sandbox_uid = 1000;

// The first that can be used. None in a container whose files are all read-only.
std::optional<fs::path> usable_of(const std::vector<fs::path>& directories) {
  std::vector<std::string> problems;
  for (const fs::path& directory : directories) {
    try {
      os::make_private_directory(directory);
      return directory;
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  log::warning("users of sandboxes are chosen at random: no directory for claims can be used",
               {{"problems", joined(problems, "; ")}});
  return std::nullopt;
}

// The first, those of the first sandboxes, and a few beyond: a directory service may be slow.
bool has_users(const UidRange& range, const UidRangeClaim::HasUser& is_known) {
  for (const uid_t offset : {0U, first_sandbox_uid, range.count / 2, range.count - 1})
    if (is_known(range.first + std::min(offset, range.count - 1))) return true;
  return false;
}

}  // namespace

bool has_user(uid_t uid) {
  constexpr std::size_t enough = 16384;
  std::vector<char> text(enough);
  passwd entry{};
  passwd* found = nullptr;
  const int failed = ::getpwuid_r(uid, &entry, text.data(), text.size(), &found);
  return found != nullptr || failed == ERANGE;
}

std::vector<fs::path> UidRangeClaim::usual_directories() {
  return {"/run/hearth/users", "/var/lib/hearth/users"};
}

UidRangeClaim::UidRangeClaim(const std::vector<UidRange>& candidates,
                             const std::vector<fs::path>& directories, const HasUser& is_known) {
  const std::optional<fs::path> directory = usable_of(directories);
  // Instances in other containers may have the same users and do not see our claim. If each begins
  // at another place they hardly meet.
  std::size_t index = std::random_device()();
  for (std::size_t tried = 0; tried < candidates.size(); ++tried, ++index) {
    range_ = candidates[index % candidates.size()];
    if (directory) mark_ = os::FileLock::try_acquire(*directory / std::to_string(range_.first));
    if ((mark_ || !directory) && !has_users(range_, is_known)) return;
    mark_.reset();
  }
  throw Error(
      "no range of users is free for sandboxes: other instances, or users of this machine, "
      "have taken all of them");
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
