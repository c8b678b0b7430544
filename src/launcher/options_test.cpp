#include "launcher/options.h"

#include "base/error.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::launcher;

namespace {

Options parse(std::vector<std::string> words) {
  std::vector<char*> pointers{const_cast<char*>("hearth-launcher")};
  for (std::string& word : words) pointers.push_back(word.data());
  return parse_options(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

TEST_CASE("the launcher's steps keep their order") {
  const Options options = parse(
      {"--dir",     "/a", "--ro-bind", "/x", "/b",   "--bind", "/y",        "/c",    "--symlink",
       "b",         "/d", "--file",    "/e", "text", "--dev",  "--uids",    "70000", "100",
       "--keep-fd", "3",  "--setenv",  "A",  "b=c",  "--",     "/bin/true", "--dir"});
  REQUIRE(options.steps.size() == 6);
  CHECK(std::get<Directory>(options.steps[0]).path == "/a");
  CHECK_FALSE(std::get<Bind>(options.steps[1]).writable);
  CHECK(std::get<Bind>(options.steps[2]).writable);
  CHECK(std::get<Symlink>(options.steps[3]).path == "/d");
  CHECK(std::get<File>(options.steps[4]).content == "text");
  CHECK(std::holds_alternative<Devices>(options.steps[5]));
  CHECK(options.uids.first == 70000);
  CHECK(options.uids.count == 100);
  CHECK(options.kept_fds == std::vector<int>{3});
  CHECK(options.environment == std::vector<std::string>{"A=b=c"});
  CHECK(options.command == std::vector<std::string>{"/bin/true", "--dir"});
}

TEST_CASE("the launcher refuses what it cannot mean") {
  CHECK_THROWS_AS(parse({"--dir", "/a"}), Error);
  CHECK_THROWS_AS(parse({"--dir", "a", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--dir", "/a/../b", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--keep-fd", "-1", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--uids", "1", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--bogus", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--setenv", "A"}), Error);
}
