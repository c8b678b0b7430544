#include "files/directory_walk.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hearth::files {
namespace {

bool is_dot(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

}  // namespace

os::UniqueFd open_directory(int parent, const char* name) {
  return os::UniqueFd(
      ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

DirectoryWalk::DirectoryWalk(os::UniqueFd top) { open(std::move(top)); }

void DirectoryWalk::open(os::UniqueFd fd) {
  Directory opened(::fdopendir(fd.get()), ::closedir);
  if (!opened) throw failure_of(errno);
  fd.release();
  directory_ = std::move(opened);
}

const dirent* DirectoryWalk::next() {
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory_.get());
    if (entry == nullptr && errno != 0) throw failure_of(errno, path_);
    if (entry == nullptr || !is_dot(entry->d_name)) return entry;
  }
}

std::string DirectoryWalk::path_of(const char* name) const {
  return path_.empty() ? name : path_ + '/' + name;
}

void DirectoryWalk::enter(os::UniqueFd below, const char* name) {
  struct stat status{};
  if (::fstat(fd(), &status) != 0) throw failure_of(errno, path_);
  const Level level{status.st_dev, status.st_ino, ::telldir(directory_.get()), path_.size()};
  std::string path = path_of(name);  // the name may be in the directory that is closed now
  open(std::move(below));
  above_.push_back(level);
  path_ = std::move(path);
}

void DirectoryWalk::leave() {
  const Level level = above_.back();
  os::UniqueFd parent = open_directory(fd(), "..");
  struct stat status{};
  if (!parent || ::fstat(parent.get(), &status) != 0) throw failure_of(errno, path_);
  if (status.st_dev != level.device || status.st_ino != level.inode)
    throw FileFailure(wire::FileProblem::changed, path_ + ": it was moved meanwhile");
  open(std::move(parent));
  go_to(level.position);
  path_.resize(level.path_bytes);
  above_.pop_back();
}

std::vector<long> DirectoryWalk::positions() const {
  std::vector<long> positions;
  for (const Level& level : above_) positions.push_back(level.position);
  positions.push_back(::telldir(directory_.get()));
  return positions;
}

}  // namespace hearth::files
