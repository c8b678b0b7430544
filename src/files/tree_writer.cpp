#include "files/tree_writer.h"

#include "files/directory_walk.h"
#include "files/tree_path.h"
#include "wire/file_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace hearth::files {
namespace {

using wire::FileEntry;
using wire::FileKind;
using wire::FileProblem;

constexpr std::size_t most_left_out = 100;

struct Times {
  explicit Times(std::int64_t ns) {
    constexpr std::int64_t second = 1'000'000'000;
    std::int64_t seconds = ns / second;
    std::int64_t rest = ns % second;
    if (rest < 0) {
      rest += second;
      --seconds;
    }
    both[0] = both[1] = {seconds, rest};
  }
  timespec both[2];
};

// Of one entry, so that the others can go on.
bool is_about_name(FileProblem problem) {
  switch (problem) {
    case FileProblem::exists:
    case FileProblem::not_found:
    case FileProblem::is_directory:
    case FileProblem::not_directory:
    case FileProblem::invalid_path:
      return true;
    default:
      return false;
  }
}

}  // namespace

TreeWriter::TreeWriter(os::UniqueFd top, TreeRules rules)
    : rules_(rules), directory_(std::move(top)) {}

TreeWriter::~TreeWriter() {
  if (file_) ::unlinkat(directory_.get(), file_name_.c_str(), 0);
}

void TreeWriter::begin(const FileEntry& entry) {
  finish_file();
  left_ = entry.kind == FileKind::file ? entry.size_bytes : 0;
  try {
    if (const std::string problem = wire::problem_of_tree_path(entry.path); !problem.empty())
      throw FileFailure(FileProblem::invalid_path, "the path " + problem);
    go_to_parent_of(entry.path);
    make(entry, entry.path.substr(entry.path.rfind('/') + 1));
  } catch (const FileFailure& failure) {
    const bool is_left_out = rules_ != TreeRules::into_sandbox && is_about_name(failure.problem);
    if (!is_left_out) throw FileFailure(failure.problem, entry.path + ": " + failure.what());
    leave_out(entry.path, failure.what());
  }
}

void TreeWriter::leave_out(const std::string& path, const std::string& why) {
  ++left_out_count_;
  if (left_out_.size() < most_left_out) left_out_.push_back({path, why});
}

void TreeWriter::data(std::string_view bytes) {
  if (bytes.size() > left_)
    throw FileFailure(FileProblem::changed, "a file has more bytes than it was said to have");
  left_ -= bytes.size();
  if (!file_) return;
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw failure_of(errno, file_entry_.path);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void TreeWriter::finish() {
  finish_file();
  while (!levels_.empty()) leave();
}

void TreeWriter::finish_file() {
  if (left_ > 0)
    throw FileFailure(FileProblem::changed, "a file has fewer bytes than it was said to have");
  if (!file_) return;
  const bool is_exact = rules_ == TreeRules::into_sandbox;
  if ((is_exact && ::fchmod(file_.get(), file_entry_.mode & 0777) != 0) ||
      ::futimens(file_.get(), Times(file_entry_.modified_ns).both) != 0)
    throw failure_of(errno, file_entry_.path);
  file_.reset();
  ++files_;
}

// ---- directories

void TreeWriter::go_to_parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? std::string() : path.substr(0, slash);
  const auto is_above = [&] {
    return path_.empty() || (parent.starts_with(path_) &&
                             (parent.size() == path_.size() || parent[path_.size()] == '/'));
  };
  while (!is_above()) leave();
  while (path_.size() < parent.size()) {
    const std::size_t begin = path_.empty() ? 0 : path_.size() + 1;
    enter(parent.substr(begin, parent.find('/', begin) - begin));
  }
}

void TreeWriter::enter(const std::string& name) {
  struct stat status{};
  if (::fstat(directory_.get(), &status) != 0) throw failure_of(errno);
  os::UniqueFd below = open_directory(directory_.get(), name.c_str());
  // Of a link, O_DIRECTORY says this, too.
  if (!below) throw failure_of(errno, "its directory " + name);
  levels_.push_back({path_.size(), status.st_dev, status.st_ino});
  directory_ = std::move(below);
  if (!path_.empty()) path_ += '/';
  path_ += name;
}

void TreeWriter::leave() {
  const Level level = std::move(levels_.back());
  levels_.pop_back();
  os::UniqueFd parent = open_directory(directory_.get(), "..");
  struct stat status{};
  if (!parent || ::fstat(parent.get(), &status) != 0) throw failure_of(errno, path_);
  if (status.st_dev != level.parent_device || status.st_ino != level.parent_inode)
    throw FileFailure(FileProblem::changed, path_ + ": it was moved meanwhile");
  if (level.entry) {
    const bool is_exact = rules_ == TreeRules::into_sandbox;
    const bool is_set = (!is_exact || ::fchmod(directory_.get(), level.entry->mode & 0777) == 0) &&
                        ::futimens(directory_.get(), Times(level.entry->modified_ns).both) == 0;
    // One of another user, that was there, stays as it is.
    if (!is_set && errno != EPERM) throw failure_of(errno, path_);
  }
  directory_ = std::move(parent);
  path_.resize(level.path_bytes);
}

// ---- entries

void TreeWriter::make(const FileEntry& entry, const std::string& name) {
  switch (entry.kind) {
    case FileKind::directory:
      return make_directory(entry, name);
    case FileKind::file:
      return make_file(entry, name);
    case FileKind::symlink:
      return make_link(entry, name);
    case FileKind::other:
      throw FileFailure(FileProblem::invalid_path, "it is a special file or a mount");
  }
}

// True if the name is free now.
bool TreeWriter::make_room(const std::string& name) const {
  return rules_ == TreeRules::onto_host_replacing &&
         ::unlinkat(directory_.get(), name.c_str(), 0) == 0;
}

// One that is there is taken. For whatever is written into it, its owner must be able to.
void TreeWriter::make_directory(const FileEntry& entry, const std::string& name) {
  const mode_t mode = (entry.mode & 0777) | 0700;
  const bool is_there = ::mkdirat(directory_.get(), name.c_str(), mode) != 0;
  if (is_there && errno != EEXIST) throw failure_of(errno);
  struct stat status{};
  if (is_there && ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    throw failure_of(errno);
  if (is_there && !S_ISDIR(status.st_mode)) throw failure_of(EEXIST);
  enter(name);
  const bool keeps_its_own = is_there && rules_ != TreeRules::into_sandbox;
  if (!keeps_its_own) levels_.back().entry = entry;
}

void TreeWriter::make_file(const FileEntry& entry, const std::string& name) {
  const mode_t mode = rules_ == TreeRules::into_sandbox ? 0600 : entry.mode & 0777;
  const auto create = [&] {
    file_.reset(::openat(directory_.get(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    return static_cast<bool>(file_);
  };
  if (!create() && !(errno == EEXIST && make_room(name) && create())) throw failure_of(errno);
  file_name_ = name;
  file_entry_ = entry;
}

void TreeWriter::make_link(const FileEntry& entry, const std::string& name) {
  if (rules_ != TreeRules::into_sandbox && leads_out(entry.path, entry.target))
    throw FileFailure(FileProblem::invalid_path,
                      "it is a link that could lead out of the directory");
  // What is checked must be what the kernel sees.
  if (entry.target.find('\0') != std::string::npos)
    throw FileFailure(FileProblem::invalid_path, "its target holds a NUL");
  const auto create = [&] {
    return ::symlinkat(entry.target.c_str(), directory_.get(), name.c_str()) == 0;
  };
  if (!create() && !(errno == EEXIST && make_room(name) && create())) throw failure_of(errno);
  if (::utimensat(directory_.get(), name.c_str(), Times(entry.modified_ns).both,
                  AT_SYMLINK_NOFOLLOW) != 0)
    throw failure_of(errno);
}

}  // namespace hearth::files
