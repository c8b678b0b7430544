// os/file_lock.h: a lock on a file, between processes and between threads. The kernel releases it
// when its holder exits, so a lock that is held proves that its holder lives.
#pragma once

#include "os/unique_fd.h"

#include <filesystem>
#include <optional>
#include <stop_token>

namespace hearth::os {

class FileLock {
 public:
  enum class Kind {
    exclusive,
    shared,  // with other holders that take it this way
  };

  // Creates the file if there is none. The file stays: others may wait for it, and after a removal
  // two could hold "the" lock. Throws OsError if it cannot be opened or the file system has no
  // locks. Throws UntrustedPath if another user owns it or could exchange it. Its mode becomes
  // 0600. A file that had another mode may be open elsewhere: keep locks in a private directory.
  static std::optional<FileLock> try_acquire(const std::filesystem::path& path,
                                             Kind kind = Kind::exclusive);
  // Waits, looking twenty times a second: flock itself could not be told to give up. Nothing when
  // asked to stop.
  static std::optional<FileLock> acquire(const std::filesystem::path& path,
                                         const std::stop_token& stop, Kind kind = Kind::exclusive);

  // Whether the file still stands where it was when it was opened.
  bool is_still_at(const std::filesystem::path& path) const;

 private:
  explicit FileLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace hearth::os
