#include "init/options.h"

#include "base/error.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace hearth;

namespace {

init::Options parse(std::vector<std::string> words) {
  words.insert(words.begin(), "hearth-init");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return init::parse_options(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

TEST_CASE("hearth-init takes a descriptor, directories to wipe and the harness") {
  const init::Options options =
      parse({"--host-fd", "5", "--wipe", "/a", "--wipe", "/b", "--", "python3", "--", "h.py"});
  CHECK(options.host_read_fd == 5);
  CHECK(options.host_write_fd == 5);
  CHECK(options.wiped_directories == std::vector<std::string>{"/a", "/b"});
  CHECK(options.harness_command == std::vector<std::string>{"python3", "--", "h.py"});
  CHECK(parse({"--", "x"}).wiped_directories.size() == 3);
}

TEST_CASE("hearth-init takes a worker that exists already, and a socket to ask for others") {
  const init::Options options = parse({"--host-fd", "5", "--adopt", "6,7,8,9,10,3.11.2/1"});
  REQUIRE(options.adopted);
  CHECK(options.adopted->control_fd == 6);
  CHECK(options.adopted->worker_fds == std::array{7, 8, 9, 10});
  CHECK(options.adopted->python == "3.11.2");
  CHECK(options.adopted->harness_version == "1");
  CHECK_THROWS_AS(parse({"--adopt", "6,7,8,9,3.11.2/1"}), Error);
  CHECK_THROWS_AS(parse({"--adopt", "6,7,8,9,10,3.11.2/1", "--", "python3"}), Error);
}

TEST_CASE("hearth-init takes a list of users and the directory for its own") {
  const init::Options options = parse({"--passwd", "/a/passwd,/b", "--", "x"});
  REQUIRE(options.passwd);
  CHECK(options.passwd->source == "/a/passwd");
  CHECK(options.passwd->directory == "/b");
  CHECK_THROWS_AS(parse({"--passwd", "/a", "--", "x"}), Error);
}

TEST_CASE("hearth-init refuses what it does not understand") {
  for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                 {"--"},
                                                                 {"--host-fd"},
                                                                 {"--host-fd", "x", "--", "h"},
                                                                 {"--host-fd", "-1", "--", "h"},
                                                                 {"--host-fd", "1x", "--", "h"},
                                                                 {"--what", "1", "--", "h"},
                                                                 {"python3"}})
    CHECK_THROWS_AS(parse(words), Error);
}
