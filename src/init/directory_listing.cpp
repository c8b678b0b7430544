#include "init/directory_listing.h"

#include "base/base64.h"
#include "init/file_failure.h"
#include "init/file_place.h"
#include "init/limits.h"
#include "wire/file_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace hearth::init {
namespace {

using wire::FileProblem;

constexpr std::size_t max_page_bytes = std::size_t{256} << 10;

// Backtracks to the last star only, so a hostile pattern costs no more than both sizes multiplied.
bool component_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view take_component(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const std::string_view component = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return component;
}

bool is_dot(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

[[noreturn]] void refuse_cursor() {
  throw FileFailure(FileProblem::invalid_path, "the cursor belongs to another listing");
}

}  // namespace

bool matches(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return true;
  if (pattern.find('/') == std::string_view::npos)
    return component_matches(pattern, path.substr(path.rfind('/') + 1));
  while (!pattern.empty() && !path.empty())
    if (!component_matches(take_component(pattern), take_component(path))) return false;
  return pattern.empty() && path.empty();
}

DirectoryListing::DirectoryListing(StreamPort& port, const std::string& root,
                                   const wire::ListFiles& call)
    : FileWork(port, "cannot list " + call.path), call_(call) {
  const FilePlace place = find_place(root, call.path, MissingDirectories::are_errors);
  const struct stat status = status_of(place);
  if (S_ISLNK(status.st_mode)) throw failure_of(ELOOP);
  os::UniqueFd fd(::openat(place.directory.get(), place.name.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) throw failure_of(errno);
  directory_.reset(::fdopendir(fd.get()));
  if (!directory_) throw failure_of(errno);
  fd.release();
  begin_at_cursor();
}

// A cursor is, for each level from the listed directory down, the position in it, a NUL, and the
// name of the directory below with another NUL. All of it in base64.
void DirectoryListing::begin_at_cursor() {
  if (call_.cursor.empty()) return;
  const std::optional<std::string> decoded = decode_base64(call_.cursor);
  if (!decoded) refuse_cursor();
  std::string_view rest = *decoded;
  while (true) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) refuse_cursor();
    long position = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + end, position);
    if (parsed.ec != std::errc() || parsed.ptr != rest.data() + end) refuse_cursor();
    ::seekdir(directory_.get(), position);
    rest.remove_prefix(end + 1);
    if (rest.empty()) return;
    const std::size_t name_end = rest.find('\0');
    if (name_end == std::string_view::npos) refuse_cursor();
    const std::string name(rest.substr(0, name_end));
    if (name.find('/') != std::string::npos || is_dot(name.c_str()) || name.empty())
      refuse_cursor();
    // It is gone: what stands behind it goes on.
    if (!enter(name.c_str())) return;
    rest.remove_prefix(name_end + 1);
  }
}

std::string DirectoryListing::cursor() const {
  std::string plain;
  std::string_view names = path_;
  for (const Level& level : above_) {
    plain += std::to_string(level.position) + '\0';
    plain += take_component(names);
    plain += '\0';
  }
  plain += std::to_string(::telldir(directory_.get())) + '\0';
  std::string cursor;
  append_base64(cursor, plain);
  return cursor;
}

void DirectoryListing::work() {
  for (std::size_t seen = 0; seen < entries_per_slice; ++seen) {
    if (page_.entries.size() >= call_.limit || page_bytes_ >= max_page_bytes)
      return end_page(false);
    errno = 0;
    if (const dirent* entry = ::readdir(directory_.get())) {
      if (!is_dot(entry->d_name)) take_entry(*entry);
    } else if (errno != 0) {
      throw failure_of(errno);
    } else if (above_.empty()) {
      return end_page(true);
    } else {
      leave();
    }
  }
}

void DirectoryListing::take_entry(const dirent& entry) {
  const int fd = ::dirfd(directory_.get());
  struct stat status{};
  // It may have been removed since.
  if (::fstatat(fd, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  const std::string path = path_.empty() ? entry.d_name : path_ + '/' + entry.d_name;
  if (path.size() > wire::max_path_bytes) return;
  if (matches(call_.glob, path)) {
    page_.entries.push_back(entry_of(path, status, fd, entry.d_name));
    page_bytes_ += path.size() + page_.entries.back().target.size() + 100;
  }
  if (S_ISDIR(status.st_mode) && above_.size() + 1 < call_.depth) enter(entry.d_name);
}

// False for a directory that cannot be read.
bool DirectoryListing::enter(const char* name) {
  const int parent = ::dirfd(directory_.get());
  struct stat status{};
  os::UniqueFd fd(
      ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd || ::fstat(parent, &status) != 0) return false;
  Directory below(::fdopendir(fd.get()), ::closedir);
  if (!below) throw failure_of(errno);
  fd.release();
  above_.push_back({status.st_dev, status.st_ino, ::telldir(directory_.get()), path_.size()});
  if (!path_.empty()) path_ += '/';
  path_ += name;
  directory_ = std::move(below);
  return true;
}

void DirectoryListing::leave() {
  const Level level = above_.back();
  os::UniqueFd fd(::openat(::dirfd(directory_.get()), "..",
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) throw failure_of(errno);
  if (status.st_dev != level.device || status.st_ino != level.inode)
    throw FileFailure(FileProblem::changed, path_ + ": it was moved meanwhile");
  directory_.reset(::fdopendir(fd.get()));
  if (!directory_) throw failure_of(errno);
  fd.release();
  ::seekdir(directory_.get(), level.position);
  path_.resize(level.path_bytes);
  above_.pop_back();
}

void DirectoryListing::end_page(bool is_last) {
  if (!is_last) page_.cursor = cursor();
  port().send(wire::FileAnswer{port().id(), std::move(page_)});
  done(port());
}

}  // namespace hearth::init
