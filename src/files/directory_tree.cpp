#include "files/directory_tree.h"

#include "files/file_status.h"
#include "wire/file_path.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hearth::files {
namespace {

using wire::FileKind;
using wire::FileProblem;

[[noreturn]] void refuse_changed(const std::string& path) {
  throw FileFailure(FileProblem::changed, path + ": it was changed meanwhile");
}

// Gives an owner the rights that it has taken from itself, and returns the mode that was.
std::optional<mode_t> open_to_owner(int directory, const char* name, mode_t mode, mode_t wanted) {
  mode &= 0777;
  if ((mode & wanted) == wanted) return std::nullopt;
  if (::fchmodat(directory, name, mode | wanted, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return mode;
}

}  // namespace

DirectoryTree::DirectoryTree(os::UniqueFd top, ClosedFiles closed)
    : walk_(std::move(top)), closed_(closed) {}

DirectoryTree::~DirectoryTree() {
  const bool is_anything_open = std::any_of(closed_modes_.begin(), closed_modes_.end(),
                                            [](const auto& mode) { return mode; });
  if (!is_anything_open) return;
  try {
    while (walk_.depth() > 0) leave();
  } catch (const FileFailure&) {  // NOLINT: it was moved, and is where a script has put it
  }
}

std::optional<wire::FileEntry> DirectoryTree::next() {
  file_.reset();
  while (true) {
    if (const dirent* found = walk_.next()) {
      if (std::optional<wire::FileEntry> entry = look_at(found->d_name)) return entry;
    } else if (walk_.depth() == 0) {
      return std::nullopt;
    } else {
      leave();
    }
  }
}

// Nothing for what has vanished.
std::optional<wire::FileEntry> DirectoryTree::look_at(const char* name) {
  std::string path = walk_.path_of(name);
  struct statx found{};
  if (::statx(walk_.fd(), name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &found) !=
      0) {
    if (errno == ENOENT) return std::nullopt;
    throw failure_of(errno, path);
  }
  if (path.size() > wire::max_path_bytes)
    throw FileFailure(FileProblem::too_large, path.substr(0, 100) +
                                                  "...: the path is longer than " +
                                                  std::to_string(wire::max_path_bytes) + " bytes");
  struct stat status{};
  status.st_mode = found.stx_mode;
  status.st_mtim = {found.stx_mtime.tv_sec, static_cast<long>(found.stx_mtime.tv_nsec)};
  const int directory = walk_.fd();
  // A kernel before 5.8 does not say it; what is there is then copied as if it were no mount.
  const bool is_mount = (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  if (is_mount) {
    wire::FileEntry entry = entry_of(std::move(path), status, directory, name);
    entry.kind = FileKind::other;
    return entry;
  }
  if (S_ISREG(status.st_mode)) {
    if (!open_file(name, status)) return std::nullopt;
    file_path_ = path;
    return entry_of(std::move(path), status, -1, nullptr);
  }
  if (S_ISDIR(status.st_mode)) {
    if (!enter(name, status)) return std::nullopt;
    status.st_size = 0;
    return entry_of(std::move(path), status, -1, nullptr);
  }
  try {
    return entry_of(std::move(path), status, directory, name);
  } catch (const FileFailure& failure) {
    if (failure.problem == FileProblem::not_found) return std::nullopt;
    throw;
  }
}

bool DirectoryTree::open_file(const char* name, struct stat& status) {
  const int directory = walk_.fd();
  std::optional<mode_t> closed_mode;
  if (closed_ == ClosedFiles::are_opened)
    closed_mode = open_to_owner(directory, name, status.st_mode, 0400);
  file_.reset(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file_ && errno == ENOENT) return false;
  if (!file_ && errno == ELOOP) refuse_changed(walk_.path_of(name));
  if (!file_) throw failure_of(errno, walk_.path_of(name));
  if (closed_mode) ::fchmod(file_.get(), *closed_mode);
  if (::fstat(file_.get(), &status) != 0) throw failure_of(errno, walk_.path_of(name));
  if (!S_ISREG(status.st_mode)) refuse_changed(walk_.path_of(name));
  as_opened_ = status;
  left_ = static_cast<std::uint64_t>(status.st_size);
  return true;
}

bool DirectoryTree::enter(const char* name, struct stat& status) {
  const int directory = walk_.fd();
  std::optional<mode_t> closed_mode;
  if (closed_ == ClosedFiles::are_opened)
    closed_mode = open_to_owner(directory, name, status.st_mode, 0500);
  os::UniqueFd below = open_directory(directory, name);
  if (!below && errno == ENOENT) return false;
  if (!below && (errno == ELOOP || errno == ENOTDIR)) refuse_changed(walk_.path_of(name));
  if (!below) throw failure_of(errno, walk_.path_of(name));
  if (::fstat(below.get(), &status) != 0) throw failure_of(errno, walk_.path_of(name));
  if (closed_mode) status.st_mode = S_IFDIR | *closed_mode;
  walk_.enter(std::move(below), name);
  closed_modes_.push_back(closed_mode);
  return true;
}

void DirectoryTree::leave() {
  // The way up leads through what is closed only then.
  struct Closing {
    std::optional<mode_t> mode;
    os::UniqueFd directory;
    ~Closing() {
      if (mode) ::fchmod(directory.get(), *mode);
    }
  } const closing{
      closed_modes_.back(),
      os::UniqueFd(closed_modes_.back() ? ::fcntl(walk_.fd(), F_DUPFD_CLOEXEC, 0) : -1)};
  closed_modes_.pop_back();
  walk_.leave();
}

std::size_t DirectoryTree::read(std::span<char> into) {
  if (!file_) return 0;
  if (left_ == 0) {
    finish_file();
    return 0;
  }
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
  ssize_t got = ::read(file_.get(), into.data(), wanted);
  while (got < 0 && errno == EINTR) got = ::read(file_.get(), into.data(), wanted);
  if (got < 0) throw failure_of(errno, file_path_);
  if (got == 0) refuse_changed(file_path_);
  left_ -= static_cast<std::uint64_t>(got);
  if (left_ == 0) finish_file();
  return static_cast<std::size_t>(got);
}

void DirectoryTree::finish_file() {
  struct stat now{};
  if (::fstat(file_.get(), &now) != 0) throw failure_of(errno, file_path_);
  file_.reset();
  if (is_changed(as_opened_, now)) refuse_changed(file_path_);
}

}  // namespace hearth::files
