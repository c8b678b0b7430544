// cli/destination.h: where on this machine something is written that came out of a sandbox. Its
// content is not trusted, nor is a directory of another user or of a repository: no link of another
// user is followed, and none at the end of what was named, unless a slash follows it.
#pragma once

#include "os/unique_fd.h"

#include <string>

namespace hearth::cli {

// Makes the directory and those above it as far as they are missing. OsError.
os::UniqueFd make_directories(const std::string& path);
// Makes the directory, which must not be there unless it may. OsError.
os::UniqueFd make_directory(const std::string& path, bool may_be_there);
// The directory in which `path` is to appear.
os::UniqueFd open_directory_of(const std::string& path);

// A file for its user alone. It stays only if it is kept, and replaces another only then.
class NewFile {
 public:
  // Error if the name is taken, unless it is that of a file and `replaces`. What is no file, such
  // as /dev/stdout or a pipe, is written to as it is.
  NewFile(const std::string& path, bool replaces);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int fd() const { return file_.get(); }
  void keep();

 private:
  std::string path_;
  std::string name_{};
  std::string name_until_kept_{};  // empty: it stays
  os::UniqueFd directory_{};
  os::UniqueFd file_{};
};

}  // namespace hearth::cli
