#include "os/program_environment.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

using namespace hearth;
namespace fs = std::filesystem;

TEST_CASE("root looks programs up only where no other user can put one" *
          doctest::skip(::geteuid() != 0)) {
  const test::TemporaryDirectory folder;
  for (const char* name : {"own", "open", "sticky", "open/own"})
    fs::create_directories(folder.path() / name);
  ::chmod((folder.path() / "open").c_str(), 0777);
  ::chmod((folder.path() / "sticky").c_str(), 01777);
  const std::string at = folder.path().string();
  CHECK(os::trusted_search_path(at + "/open:" + at + "/own:bin::.:" + at + "/sticky:" + at +
                                "/open/own:" + at + "/none:/usr/bin") == at + "/own:/usr/bin");
  REQUIRE(::lchown((folder.path() / "own").c_str(), 65534, 65534) == 0);
  CHECK(os::trusted_search_path(at + "/own").empty());
}

TEST_CASE("variables that make a program run further code are not passed on") {
  for (const char* name : {"LD_PRELOAD_TEST", "PYTHONSTARTUP", "BASH_ENV", "HEARTH_TEST_HARMLESS"})
    ::setenv(name, "x", 1);
  const std::vector<std::string> variables = os::program_environment();
  for (const char* name : {"LD_PRELOAD_TEST", "PYTHONSTARTUP", "BASH_ENV", "HEARTH_TEST_HARMLESS"})
    ::unsetenv(name);
  const auto has = [&](std::string_view start) {
    return std::any_of(variables.begin(), variables.end(),
                       [&](const std::string& variable) { return variable.starts_with(start); });
  };
  CHECK(has("HEARTH_TEST_HARMLESS=x"));
  CHECK(has("PATH=/"));
  CHECK_FALSE(has("LD_"));
  CHECK_FALSE(has("PYTHON"));
  CHECK_FALSE(has("BASH_ENV"));
}
