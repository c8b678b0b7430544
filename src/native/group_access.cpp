#include "native/group_access.h"

#include "base/error.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

constexpr int most_files = 10'000;

bool depends_on_group(const fs::path& path, const Credentials& own) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 && !S_ISLNK(info.st_mode) && depends_on_group(info, own);
}

}  // namespace

Credentials own_credentials() {
  Credentials own{::geteuid(), ::getegid(), {}};
  const int count = ::getgroups(0, nullptr);
  if (count < 0) throw OsError("list the groups of this process");
  own.groups.resize(static_cast<std::size_t>(count));
  if (::getgroups(count, own.groups.data()) < 0) throw OsError("list the groups of this process");
  std::erase(own.groups, own.gid);
  return own;
}

bool depends_on_group(const struct stat& file, const Credentials& own) {
  if (file.st_uid == own.uid || file.st_gid == own.gid) return false;
  const bool is_in_group =
      std::find(own.groups.begin(), own.groups.end(), file.st_gid) != own.groups.end();
  const mode_t of_group = (file.st_mode >> 3) & 07;
  const mode_t of_others = file.st_mode & 07;
  return is_in_group && (of_group & ~of_others) != 0;
}

std::optional<fs::path> file_that_depends_on_group(const fs::path& source, const Credentials& own) {
  if (own.groups.empty()) return std::nullopt;
  if (depends_on_group(source, own)) return source;
  std::error_code failed;
  int seen = 0;
  for (fs::recursive_directory_iterator
           entry(source, fs::directory_options::skip_permission_denied, failed),
       end;
       !failed && entry != end && seen < most_files; entry.increment(failed), ++seen)
    if (depends_on_group(entry->path(), own)) return entry->path();
  return std::nullopt;
}

}  // namespace hearth::native
