#include "backend/writable_mount.h"

#include "base/error.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <string>

using namespace hearth;
using backend::SandboxUser;

namespace {

std::string with_mode(const std::string& path, mode_t mode, const SandboxUser& user) {
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return backend::problem_of_writing(path, user);
}

}  // namespace

TEST_CASE("a user that owns nothing may write what others may, or its group") {
  const test::TemporaryDirectory directory;
  const std::string place = directory.path() / "out";
  const std::string file = directory.path() / "file";
  REQUIRE(::mkdir(place.c_str(), 0700) == 0);
  directory.write("file", "");
  const SandboxUser other;
  CHECK(with_mode(place, 0777, other).empty());
  CHECK_FALSE(with_mode(place, 0775, other).empty());
  CHECK_FALSE(with_mode(place, 0776, other).empty());  // nothing is made where it may not enter
  CHECK(with_mode(file, 0602, other).empty());
  CHECK_FALSE(with_mode(file, 0644, other).empty());
  const SandboxUser of_group{.group = ::getegid()};
  CHECK(with_mode(place, 0770, of_group).empty());
  CHECK_FALSE(with_mode(place, 0757, of_group).empty());  // as the kernel: the first that fits
  CHECK(with_mode(place, 0700, other) == "sandboxes have a user of their own, and only user " +
                                             std::to_string(::geteuid()) + " and group " +
                                             std::to_string(::getegid()) + " may write it");
  CHECK(backend::problem_of_writing(directory.path() / "none", other).empty());
}

TEST_CASE("where sandboxes are the caller, they may write what it may") {
  const test::TemporaryDirectory directory;
  const std::string place = directory.path();
  const SandboxUser caller{.is_caller = true};
  CHECK(with_mode(place, 0700, caller).empty());
  if (::geteuid() != 0) CHECK_FALSE(with_mode(place, 0500, caller).empty());
  REQUIRE(::chmod(place.c_str(), 0700) == 0);
}

TEST_CASE("a mount that is to be written and cannot be is refused with the way out") {
  const test::TemporaryDirectory directory;
  const std::string place = directory.path();
  REQUIRE(::chmod(place.c_str(), 0755) == 0);
  const auto refusal = [&](bool read_only, bool is_engines) -> std::string {
    try {
      backend::require_writable({{place, "/out", read_only, is_engines}}, {});
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK(refusal(true, false).empty());
  CHECK(refusal(false, true).empty());
  const std::string words = refusal(false, false);
  CHECK(words.starts_with("the mount of " + place + " at /out is refused"));
  CHECK(words.find("chmod o+rwx " + place) != std::string::npos);
  CHECK(words.find("--get or --save") != std::string::npos);
}
