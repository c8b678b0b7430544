#include "os/read_file.h"

#include "base/error.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

using namespace hearth;

TEST_CASE("a file is read whole, up to the limit its reader sets") {
  const test::TemporaryDirectory folder;
  const auto path = folder.path() / "file";
  const std::string content = std::string("a\0b", 3) + std::string(200'000, 'x');
  std::ofstream(path, std::ios::binary) << content;
  CHECK(os::read_file(path, 300'000) == content);
  CHECK(os::read_file(path, content.size()) == content);
  CHECK_THROWS_AS(os::read_file(path, content.size() - 1), Error);
}

TEST_CASE("what cannot be read is named") {
  try {
    os::read_file("/no/such/file", 10);
    FAIL("read");
  } catch (const OsError& error) {
    CHECK(error.code == ENOENT);
    CHECK(std::string(error.what()).find("read /no/such/file: ") == 0);
  }
  CHECK_THROWS_AS(os::read_file("/", 10), OsError);
  CHECK_THROWS_AS(os::read_file("/dev/zero", 10), Error);
}
