#include "builder/manifest.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::builder;

TEST_CASE("a manifest reads back as it was written") {
  const Manifest manifest{.checksum = "abc",
                          .python = {"/usr/bin/python3.11", "3.11.2", ".cpython-311-x.so"},
                          .python_file = {.inode = ~std::uint64_t{0},
                                          .size_bytes = 6'831'736,
                                          .modified_ns = 1'745'849'508'123'456'789},
                          .packages = {"a>=1", "b ; os_name == \"posix\""}};
  CHECK(parse_manifest(print_manifest(manifest)) == manifest);
}

TEST_CASE("what is no manifest, or one of another format, is none") {
  const std::string good = print_manifest({.checksum = "abc"});
  REQUIRE(parse_manifest(good));
  std::string newer = good;
  newer.replace(newer.find("\"format\": 1"), 11, "\"format\": 2");
  CHECK_FALSE(parse_manifest(newer));
  CHECK_FALSE(parse_manifest(""));
  CHECK_FALSE(parse_manifest("{}"));
  CHECK_FALSE(parse_manifest(good.substr(0, good.size() / 2)));
  std::string wrong = good;
  wrong.replace(wrong.find("\"inode\": \"0\""), 12, "\"inode\": \"x\"");
  CHECK_FALSE(parse_manifest(wrong));
}

TEST_CASE("a file that was replaced or written to has another identity") {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "file";
  directory.write("file", "one");
  const auto before = identity_of(file);
  REQUIRE(before);
  CHECK(identity_of(file) == before);
  directory.write("file", "three");
  CHECK(identity_of(file) != before);
  CHECK_FALSE(identity_of(directory.path() / "none"));
}
