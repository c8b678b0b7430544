#include "init/workspace_file.h"

#include "base/error.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace hearth::init {
namespace {

std::string in_words(int code) {
  if (code == ELOOP) return "it is a symbolic link";
  // A pipe without a reader, or a socket.
  if (code == ENXIO) return "it is not a regular file";
  return std::strerror(code);
}

os::UniqueFd open_directory(int parent, const char* name) {
  // O_PATH: to go on from it, a directory need not be readable.
  return os::UniqueFd(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The directory that shall hold the last component, made where it is missing.
os::UniqueFd open_parent(const std::string& root, const std::string& path) {
  os::UniqueFd directory = open_directory(AT_FDCWD, root.c_str());
  if (!directory) throw OsError(root);
  std::size_t begin = 0;
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', begin)) {
    const std::string name = path.substr(begin, end - begin);
    const std::string_view place = std::string_view(path).substr(0, end);
    if (::mkdirat(directory.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      throw OsError(place);
    directory = open_directory(directory.get(), name.c_str());
    if (!directory) throw OsError(place);
    begin = end + 1;
  }
  return directory;
}

// O_NONBLOCK: neither a pipe without a reader nor a file lease may block PID 1. Not O_TRUNC:
// nothing is changed before its type is known.
os::UniqueFd open_file(int directory, const char* name, bool append) {
  const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (append ? O_APPEND : O_CREAT);
  os::UniqueFd file(::openat(directory, name, flags, 0600));
  if (file || errno != EACCES) return file;
  // A script or an earlier request has made it read-only, as the user of this process.
  if (::fchmodat(directory, name, 0600, AT_SYMLINK_NOFOLLOW) == 0)
    return os::UniqueFd(::openat(directory, name, flags, 0600));
  errno = EACCES;
  return file;
}

bool is_regular(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool fill(int fd, const wire::WriteFileRequest& request) {
  return (request.append || ::ftruncate(fd, 0) == 0) && write_all(fd, request.data) &&
         ::fchmod(fd, request.mode & 0777) == 0;
}

void write_below(const std::string& root, const wire::WriteFileRequest& request) {
  const os::UniqueFd directory = open_parent(root, request.path);
  const std::string name = request.path.substr(request.path.rfind('/') + 1);
  const os::UniqueFd file = open_file(directory.get(), name.c_str(), request.append);
  if (!file) throw Error(in_words(errno));
  if (!is_regular(file.get())) throw Error(in_words(ENXIO));
  if (fill(file.get(), request)) return;
  const std::string why = in_words(errno);
  ::unlinkat(directory.get(), name.c_str(), 0);
  throw Error(why);
}

}  // namespace

std::string write_workspace_file(const std::string& root,
                                 const wire::WriteFileRequest& request) try {
  write_below(root, request);
  return {};
} catch (const Error& error) {
  return "cannot write " + request.path + ": " + error.what();
}

}  // namespace hearth::init
