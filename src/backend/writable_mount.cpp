#include "backend/writable_mount.h"

#include "base/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hearth::backend {
namespace {

// In a directory, files are made only by a user that may enter it, too.
mode_t needed(const struct stat& file) {
  return S_ISDIR(file.st_mode) ? S_IWOTH | S_IXOTH : S_IWOTH;
}

bool has_access_list(const std::string& path) {
  return ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

}  // namespace

std::string problem_of_writing(const std::string& path, const SandboxUser& user) {
  struct stat file{};
  struct statvfs system{};
  if (::stat(path.c_str(), &file) != 0) return {};  // the backend will say so
  if (::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0)
    return "its file system is read-only";
  if (user.is_caller) {
    const int wanted = S_ISDIR(file.st_mode) ? W_OK | X_OK : W_OK;
    if (::faccessat(AT_FDCWD, path.c_str(), wanted, AT_EACCESS) == 0) return {};
    return std::string("sandboxes are this user, which may not write it (") + std::strerror(errno) +
           ')';
  }
  const mode_t rights = needed(file);
  const bool is_its_group = user.group == file.st_gid;
  const mode_t given = is_its_group ? (file.st_mode >> 3) & 07 : file.st_mode & 07;
  if ((given & rights) == rights || has_access_list(path)) return {};
  return "sandboxes have a user of their own, and only user " + std::to_string(file.st_uid) +
         " and group " + std::to_string(file.st_gid) + " may write it";
}

void require_writable(const std::vector<blueprint::Mount>& mounts, const SandboxUser& user) {
  for (const blueprint::Mount& mount : mounts) {
    if (mount.read_only || mount.is_engines) continue;
    const std::string problem = problem_of_writing(mount.source, user);
    if (problem.empty()) continue;
    struct stat file{};
    const bool is_directory = ::stat(mount.source.c_str(), &file) == 0 && S_ISDIR(file.st_mode);
    throw Error("the mount of " + mount.source + " at " + mount.target +
                " is refused, as scripts could not write it: " + problem + ". Let them (chmod o+" +
                (is_directory ? "rwx " : "rw ") + mount.source +
                "), or mount it read-only and copy files out with --get or --save");
  }
}

}  // namespace hearth::backend
