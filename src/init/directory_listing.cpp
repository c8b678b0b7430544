#include "init/directory_listing.h"

#include "base/base64.h"
#include "files/file_status.h"
#include "init/file_place.h"
#include "init/limits.h"
#include "wire/file_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
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

os::UniqueFd listed_directory(const std::string& root, const std::string& path) {
  const FilePlace place = find_place(root, path, MissingDirectories::are_errors);
  if (S_ISLNK(status_of(place).st_mode)) throw failure_of(ELOOP);
  os::UniqueFd fd = files::open_directory(place.directory.get(), place.name.c_str());
  if (!fd) throw failure_of(errno);
  return fd;
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
    : FileWork(port, "cannot list " + call.path),
      call_(call),
      walk_(listed_directory(root, call.path)) {
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
    walk_.go_to(position);
    rest.remove_prefix(end + 1);
    if (rest.empty()) return;
    const std::size_t name_end = rest.find('\0');
    if (name_end == std::string_view::npos) refuse_cursor();
    const std::string name(rest.substr(0, name_end));
    const bool is_name = name.find('/') == std::string::npos && !name.empty();
    if (!is_name || name == "." || name == "..") refuse_cursor();
    // It is gone: what stands behind it goes on.
    if (!enter(name.c_str())) return;
    rest.remove_prefix(name_end + 1);
  }
}

std::string DirectoryListing::cursor() const {
  std::string plain;
  std::string_view names = walk_.path();
  for (const long position : walk_.positions()) {
    if (!plain.empty()) {
      plain += take_component(names);
      plain += '\0';
    }
    plain += std::to_string(position) + '\0';
  }
  std::string cursor;
  append_base64(cursor, plain);
  return cursor;
}

void DirectoryListing::work() {
  for (std::size_t seen = 0; seen < entries_per_slice; ++seen) {
    if (page_.entries.size() >= call_.limit || page_bytes_ >= max_page_bytes)
      return end_page(false);
    if (const dirent* entry = walk_.next()) {
      take_entry(*entry);
    } else if (walk_.depth() == 0) {
      return end_page(true);
    } else {
      walk_.leave();
    }
  }
}

void DirectoryListing::take_entry(const dirent& entry) {
  struct stat status{};
  // It may have been removed since.
  if (::fstatat(walk_.fd(), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  const std::string path = walk_.path_of(entry.d_name);
  if (path.size() > wire::max_path_bytes) return;
  if (matches(call_.glob, path)) {
    page_.entries.push_back(files::entry_of(path, status, walk_.fd(), entry.d_name));
    page_bytes_ += path.size() + page_.entries.back().target.size() + 100;
  }
  if (S_ISDIR(status.st_mode) && walk_.depth() + 1 < call_.depth) enter(entry.d_name);
}

// False for a directory that cannot be read.
bool DirectoryListing::enter(const char* name) {
  os::UniqueFd below = files::open_directory(walk_.fd(), name);
  if (!below) return false;
  walk_.enter(std::move(below), name);
  return true;
}

void DirectoryListing::end_page(bool is_last) {
  if (!is_last) page_.cursor = cursor();
  port().send(wire::FileAnswer{port().id(), std::move(page_)});
  done(port());
}

}  // namespace hearth::init
