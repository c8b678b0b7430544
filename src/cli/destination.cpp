#include "cli/destination.h"

#include "base/error.h"
#include "base/id.h"
#include "os/trusted_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* taken = " is there already; name another, or --force to replace it";

// Nothing if it is not there.
std::optional<os::UniqueFd> directory_at(const fs::path& path) try {
  return os::open_named_directory(path);
} catch (const OsError& error) {
  if (error.code != ENOENT) throw;
  return std::nullopt;
}

fs::path above(const fs::path& path) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : ".";
  return directory / "";  // links on the way are followed
}

fs::path without_last_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

// Nothing if there is no such name.
std::optional<mode_t> kind_of(const os::UniqueFd& directory, const std::string& name) {
  struct stat status{};
  if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return std::nullopt;
  return status.st_mode & S_IFMT;
}

// A device, or what was given to this process as a descriptor. Not where a link of another user
// leads, which could be a disk.
os::UniqueFd open_special(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
    return {};
  return os::open_trusted(path, O_WRONLY | O_NOCTTY);
}

}  // namespace

os::UniqueFd open_directory_of(const std::string& path) {
  return os::open_named_directory(above(path));
}

os::UniqueFd make_directory(const std::string& path, bool may_be_there) {
  const fs::path place = without_last_slash(path);
  const os::UniqueFd parent = open_directory_of(place);
  const int made = ::mkdirat(parent.get(), place.filename().c_str(), 0777);
  if (made != 0 && !(errno == EEXIST && may_be_there)) throw OsError(path);
  return os::open_named_directory(path);
}

os::UniqueFd make_directories(const std::string& path) {
  if (std::optional<os::UniqueFd> directory = directory_at(path)) return *std::move(directory);
  const fs::path place = without_last_slash(path);
  make_directories(above(place));
  return make_directory(path, true);
}

NewFile::NewFile(const std::string& path, bool replaces) : path_(path) {
  file_ = open_special(path);
  if (file_) return;
  name_ = fs::path(path).filename();
  directory_ = open_directory_of(path);
  const std::optional<mode_t> there = kind_of(directory_, name_);
  if (there && !replaces) throw Error(path + taken);
  if (there && *there != S_IFREG) throw Error(path + " is no file, and only files are replaced");
  name_until_kept_ = there ? ".hearth-" + random_id() : name_;
  file_.reset(::openat(directory_.get(), name_until_kept_.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) throw OsError("create " + path);
}

NewFile::~NewFile() {
  if (file_ && !name_until_kept_.empty()) ::unlinkat(directory_.get(), name_until_kept_.c_str(), 0);
}

void NewFile::keep() {
  const int directory = directory_.get();
  if (name_until_kept_ != name_ &&
      ::renameat(directory, name_until_kept_.c_str(), directory, name_.c_str()) != 0)
    throw OsError("replace " + path_);
  name_until_kept_.clear();
}

}  // namespace hearth::cli
