#include "init/file_changes.h"

#include "files/file_status.h"
#include "init/file_place.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

namespace hearth::init {

wire::FileEntry stat_file(const std::string& root, const wire::StatFile& call) {
  const FilePlace place = find_place(root, call.path, MissingDirectories::are_errors);
  return files::entry_of(call.path, status_of(place), place.directory.get(), place.name.c_str());
}

void make_directory(const std::string& root, const wire::MakeDirectory& call) {
  const FilePlace place = find_place(root, call.path, MissingDirectories::are_made);
  if (::mkdirat(place.directory.get(), place.name.c_str(), 0755) != 0) throw failure_of(errno);
}

// Nothing is replaced, whatever it is.
void move_file(const std::string& root, const wire::MoveFile& call) {
  const FilePlace from = find_place(root, call.from, MissingDirectories::are_errors);
  if (from.name == ".") throw failure_of(EINVAL);  // as the removal of /workspace or /
  status_of(from);
  const FilePlace to = find_place(root, call.to, MissingDirectories::are_made);
  if (::renameat2(from.directory.get(), from.name.c_str(), to.directory.get(), to.name.c_str(),
                  RENAME_NOREPLACE) != 0)
    throw failure_of(errno, call.to);
}

void set_mode(const std::string& root, const wire::SetMode& call) {
  const FilePlace place = find_place(root, call.path, MissingDirectories::are_errors);
  if (S_ISLNK(status_of(place).st_mode)) throw failure_of(ELOOP);
  if (::fchmodat(place.directory.get(), place.name.c_str(), call.mode, AT_SYMLINK_NOFOLLOW) != 0)
    throw failure_of(errno);
}

}  // namespace hearth::init
