#include "init/file_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace hearth::init {
namespace {

using wire::FileProblem;

constexpr const char* is_link = "it is a symbolic link";

// O_PATH: to go on from it, a directory need not be readable.
os::UniqueFd open_directory(int parent, const char* name) {
  return os::UniqueFd(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// /proc shows init's own memory and descriptors to init, and /dev holds what blocks. /dev/shm is
// the scripts'.
bool is_kernels(std::string_view path) {
  const auto is_at_or_below = [path](std::string_view place) {
    return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
  };
  return is_at_or_below("/proc") || is_at_or_below("/sys") ||
         (is_at_or_below("/dev") && !is_at_or_below("/dev/shm"));
}

[[noreturn]] void refuse_component(int parent, const std::string& name, const std::string& place) {
  const int code = errno;
  struct stat status{};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
    throw FileFailure(FileProblem::invalid_path, place + ": " + is_link);
  throw failure_of(code, place);
}

}  // namespace

void make_missing(int parent, const std::string& name, const std::string& place) {
  if (::mkdirat(parent, name.c_str(), 0755) == 0) return;
  const int code = errno;
  // What is there already decides, also where nothing can be made.
  if (::faccessat(parent, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
    throw failure_of(code, place);
}

FilePlace find_place(const std::string& root, const std::string& path, MissingDirectories missing) {
  const bool is_absolute = path.starts_with('/');
  if (is_absolute && is_kernels(path))
    throw FileFailure(FileProblem::invalid_path, "no request may reach this place");
  FilePlace place{open_directory(AT_FDCWD, is_absolute ? "/" : root.c_str()), "."};
  if (!place.directory) throw failure_of(errno, is_absolute ? "/" : root);
  std::size_t begin = is_absolute ? 1 : 0;
  for (std::size_t end = path.find('/', begin); end != std::string::npos;
       end = path.find('/', begin)) {
    const std::string name = path.substr(begin, end - begin);
    if (missing == MissingDirectories::are_made)
      make_missing(place.directory.get(), name, path.substr(0, end));
    os::UniqueFd next = open_directory(place.directory.get(), name.c_str());
    if (!next) refuse_component(place.directory.get(), name, path.substr(0, end));
    place.directory = std::move(next);
    begin = end + 1;
  }
  if (begin < path.size()) place.name = path.substr(begin);
  return place;
}

struct stat status_of(const FilePlace& place) {
  struct stat status{};
  if (::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    throw failure_of(errno);
  return status;
}

}  // namespace hearth::init
