#include "builder/workshop.h"

#include "base/error.h"
#include "base/id.h"
#include "base/log.h"
#include "os/remove_tree.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = ".building-";
constexpr const char* lock_name = "lock";

using Clock = std::chrono::steady_clock;

// What a hostile build has left must not hold up every later start. The next one goes on.
constexpr std::chrono::seconds longest_removal{10};

void remove_until(Clock::time_point deadline, const fs::path& tree) {
  // Tried again: a build that was killed with its builder may write its last while this removes.
  for (int tries = 0; tries < 10; ++tries)
    if (os::remove_tree(tree, deadline)) return;
  log::warning("directory could not be removed", {{"directory", tree.string()}});
}

// Under its own name, a builder that is just taking it could put a new lock into what is half gone.
// A process that finds the other name takes it for a leftover, which it is.
void remove_under_another_name(const fs::path& tree, Clock::time_point deadline) {
  const fs::path other = tree.parent_path() / (prefix + random_id());
  std::error_code failed;
  fs::rename(tree, other, failed);
  if (!failed) remove_until(deadline, other);
}

}  // namespace

// Another process may remove leftovers between any two steps. If it removes this new directory,
// another one is tried.
Workshop::Workshop(const fs::path& parent) {
  for (int tries = 0; tries < 100; ++tries) {
    path_ = parent / (prefix + random_id());
    if (::mkdir(path_.c_str(), 0700) != 0) throw OsError("create " + path_.string());
    if (take()) return;
  }
  throw Error("take a place to build in " + parent.string());
}

bool Workshop::take() {
  const fs::path file = path_ / lock_name;
  try {
    lock_ = os::FileLock::try_acquire(file);
  } catch (const OsError& error) {
    if (error.code != ENOENT) throw;
    return false;
  }
  return lock_ && lock_->is_still_at(file);
}

Workshop::~Workshop() { remove_until(Clock::now() + longest_removal, path_); }

void remove_left_workshops(const fs::path& parent) {
  const Clock::time_point deadline = Clock::now() + longest_removal;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    try {
      if (const auto lock = os::FileLock::try_acquire(entry.path() / lock_name))
        remove_under_another_name(entry.path(), deadline);
    } catch (const OsError& error) {
      if (error.code == ENOENT) continue;  // its builder was not dead, and has finished
      log::warning("directory could not be examined", {{"reason", error.what()}});
    }
  }
}

}  // namespace hearth::builder
