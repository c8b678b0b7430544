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
  const Options options =
      parse({"--dir", "/a",        "--ro-bind",   "/x",   "/b",          "--bind", "/y",
             "/c",    "--symlink", "b",           "/d",   "--file",      "/e",     "text",
             "--dev", "--uids",    "70000",       "100",  "--keep-fd",   "3",      "--setenv",
             "A",     "b=c",       "--cgroup-fd", "6",    "--cgroup-fd", "7",      "--seccomp-fd",
             "5",     "--",        "/bin/true",   "--dir"});
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
  CHECK(options.cgroup_fds == std::vector<int>{6, 7});
  CHECK(options.seccomp_fd == 5);
  CHECK(options.environment == std::vector<std::string>{"A=b=c"});
  CHECK(options.command == std::vector<std::string>{"/bin/true", "--dir"});
}

TEST_CASE("a mount is a bind that follows no link to its source, which is absolute") {
  const Options options = parse({"--ro-mount", "/x", "/a", "--mount", "/y", "/b", "--ro-bind", "/z",
                                 "/c", "--", "/bin/true"});
  REQUIRE(options.steps.size() == 3);
  const auto& read_only = std::get<Bind>(options.steps[0]);
  CHECK(read_only.source == "/x");
  CHECK(read_only.target == "/a");
  CHECK_FALSE(read_only.writable);
  CHECK_FALSE(read_only.follows_links);
  CHECK(std::get<Bind>(options.steps[1]).writable);
  CHECK_FALSE(std::get<Bind>(options.steps[1]).follows_links);
  CHECK(std::get<Bind>(options.steps[2]).follows_links);
  CHECK_NOTHROW(parse({"--mount", "/a..b", "/b", "--", "/bin/true"}));
  CHECK_THROWS_AS(parse({"--mount", "relative", "/b", "--", "/bin/true"}), Error);
}

TEST_CASE("the launcher is told what a command gives up") {
  const Options options =
      parse({"--scratch", "/tmp",        "64",       "--share-net", "--keep-env", "--cgroup-fd",
             "5",         "--cgroup-fd", "6",        "--user",      "1000",       "--seccomp-fd",
             "4",         "--memory-mb", "128",      "--processes", "20",         "--file-mb",
             "7",         "--",          "/bin/true"});
  REQUIRE(options.steps.size() == 1);
  CHECK(std::get<Scratch>(options.steps[0]).path == "/tmp");
  CHECK(std::get<Scratch>(options.steps[0]).megabytes == 64);
  CHECK(options.shares_network);
  CHECK(options.keeps_environment);
  CHECK(options.cgroup_fds == std::vector<int>{5, 6});
  CHECK(options.confinement.user == 1000);
  CHECK(options.seccomp_fd == 4);
  CHECK(options.confinement.memory_mb == 128);
  CHECK(options.confinement.processes == 20);
  CHECK(options.confinement.file_mb == 7);
}

TEST_CASE("the launcher refuses what it cannot mean") {
  CHECK_THROWS_AS(parse({"--dir", "/a"}), Error);
  CHECK_THROWS_AS(parse({"--dir", "a", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--dir", "/a/../b", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--keep-fd", "-1", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--uids", "1", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--bogus", "--", "x"}), Error);
  CHECK_THROWS_AS(parse({"--setenv", "A"}), Error);
  CHECK_THROWS_AS(parse({"--memory-mb", "3", "--", "x"}), Error);  // which it would not limit
}
