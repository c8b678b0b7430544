// os/file_lock.h: a lock on a file, between processes and between threads. The kernel
// gives it back when its holder dies, so whether somebody holds it is a fact and not an age.
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
    shared,  // with others who take it this way
  };

  // Creates the file where there is none; it stays, since removing what others may be waiting for
  // would let two hold "the" lock. OsError when it cannot be opened or the file system has no
  // locks; UntrustedPath when another user could exchange it or owns it. Its mode becomes 0600. A
  // file that had another mode may be open elsewhere: keep locks in a private directory.
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
