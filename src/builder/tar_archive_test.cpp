#include "builder/tar_archive.h"

#include "os/run_program.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <fstream>

namespace hearth::builder {
namespace {

std::string some() {
  TarArchive tar;
  tar.add_file("Dockerfile", "FROM x\n");
  tar.add_directory("tools");
  tar.add_file("tools/a b.py", "x = 'ü'\n");
  tar.add_file("hearth/init", std::string("\0\1\2", 3), 0755);
  tar.add_file("empty", "");
  tar.add_file(std::string(150, 'n') + ".whl", std::string(100'000, 'w'));
  return tar.finish();
}

}  // namespace

TEST_CASE("B11: a tar is made in memory, and others read what was put in") {
  const test::TemporaryDirectory place;
  place.write("some.tar", some());
  const os::ProgramResult listed = os::run_program(
      {.program = "tar",
       .arguments = {"--utc", "--numeric-owner", "-tvf", place.path() / "some.tar"}});
  INFO(listed.errors);
  CHECK(listed.succeeded());
  for (const char* line : {"-rw-r--r-- 0/0               7 1970-01-01 00:00 Dockerfile\n",
                           "drwxr-xr-x 0/0               0 1970-01-01 00:00 tools/\n",
                           "-rwxr-xr-x 0/0               3 1970-01-01 00:00 hearth/init\n"})
    CHECK_MESSAGE(listed.output.find(line) != std::string::npos, listed.output);
  const os::ProgramResult read = os::run_program(
      {.program = "tar", .arguments = {"-xOf", place.path() / "some.tar", "tools/a b.py"}});
  CHECK(read.output == "x = 'ü'\n");
}

TEST_CASE("the same files make the same bytes") { CHECK(some() == some()); }

}  // namespace hearth::builder
