#include "os/file_lock.h"

#include "base/error.h"
#include "os/trusted_path.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <semaphore>

namespace hearth::os {
namespace {

// To hold a lock it is enough to open its file for reading: others must not.
UniqueFd open_lock(const std::filesystem::path& path) {
  const std::string step = "open " + path.string();
  const UniqueFd directory = [&] {
    try {
      return open_trusted(path.has_parent_path() ? path.parent_path() : ".", O_PATH | O_DIRECTORY);
    } catch (const OsError& error) {
      throw OsError(step, error.code);
    }
  }();
  UniqueFd file(::openat(directory.get(), path.filename().c_str(),
                         O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) throw OsError(step);
  if (const auto reason = distrust_of(path, facts, effective_user(), PathRole::target))
    throw UntrustedPath(*reason);
  const bool is_readable = (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  if (is_readable && ::fchmod(file.get(), 0600) != 0) throw OsError(step);
  return file;
}

bool try_flock(const UniqueFd& file, const std::filesystem::path& path, FileLock::Kind kind) {
  const int operation = kind == FileLock::Kind::shared ? LOCK_SH : LOCK_EX;
  while (::flock(file.get(), operation | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw OsError("lock " + path.string());
  }
  return true;
}

}  // namespace

std::optional<FileLock> FileLock::try_acquire(const std::filesystem::path& path, Kind kind) {
  UniqueFd file = open_lock(path);
  if (!try_flock(file, path, kind)) return std::nullopt;
  return FileLock(std::move(file));
}

std::optional<FileLock> FileLock::acquire(const std::filesystem::path& path,
                                          const std::stop_token& stop, Kind kind) {
  UniqueFd file = open_lock(path);
  std::binary_semaphore asked(0);
  const std::stop_callback on_stop(stop, [&asked] { asked.release(); });
  while (!try_flock(file, path, kind)) {
    if (asked.try_acquire_for(std::chrono::milliseconds(50))) return std::nullopt;
  }
  return FileLock(std::move(file));
}

bool FileLock::is_still_at(const std::filesystem::path& path) const {
  struct stat ours{};
  struct stat there{};
  return ::fstat(file_.get(), &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

}  // namespace hearth::os
