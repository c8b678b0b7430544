#include "native/group_access.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <unistd.h>

namespace hearth::native {
namespace {

struct stat file_of(uid_t uid, gid_t gid, mode_t mode) {
  struct stat info{};
  info.st_uid = uid;
  info.st_gid = gid;
  info.st_mode = S_IFREG | mode;
  return info;
}

}  // namespace

TEST_CASE("a file depends on a group that allows more than all users may") {
  const Credentials own{1000, 1000, {4, 50}};
  CHECK(depends_on_group(file_of(0, 4, 0640), own));
  CHECK(depends_on_group(file_of(7, 50, 0664), own));
  CHECK(depends_on_group(file_of(0, 50, 0750), own));
  CHECK_FALSE(depends_on_group(file_of(0, 4, 0644), own));
  CHECK_FALSE(depends_on_group(file_of(0, 4, 0604), own));  // it takes away
  CHECK_FALSE(depends_on_group(file_of(0, 6, 0640), own));
  CHECK_FALSE(depends_on_group(file_of(1000, 4, 0640), own));
  CHECK_FALSE(depends_on_group(file_of(0, 1000, 0640), own));
}

TEST_CASE("a file that depends on a group is found at any depth of a mount") {
  const test::TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "a/b");
  directory.write("a/b/file", "x");
  const std::filesystem::path file = directory.path() / "a/b/file";
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  // Others than the owner, in the group that the file has.
  const Credentials other{::geteuid() + 1, ::getegid() + 1, {::getegid()}};
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
  CHECK(file_that_depends_on_group(directory.path(), other) == file);
  CHECK(file_that_depends_on_group(file, other) == file);
  CHECK_FALSE(file_that_depends_on_group(directory.path() / "missing", other));
  Credentials without = other;
  without.groups.clear();
  CHECK_FALSE(file_that_depends_on_group(directory.path(), without));
}

}  // namespace hearth::native
