#include "cli/transfer_options.h"

#include "base/error.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <CLI/CLI.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hearth::cli {
namespace {

// The directory holds a file `f` and a directory `d`.
struct Places {
  Places() {
    std::filesystem::create_directory(here + "/d");
    std::ofstream(here + "/f") << "content";
  }
  std::string path_of(const std::string& put) const {
    return checked({.puts = {here + put}}).puts.front().path;
  }
  std::string local_of(const std::string& path, const std::string& local) const {
    const std::string place = checked({.gets = {path + ':' + here + local}}).gets.front().local;
    REQUIRE(place.starts_with(here));
    return place.substr(here.size());
  }
  bool is_refused(const TransferOptions& options) const {
    try {
      require_places(options);
      return false;
    } catch (const Error&) {
      return true;
    }
  }

  test::TemporaryDirectory directory;
  const std::string here = directory.path();
};

}  // namespace

TEST_CASE("what is put gets its own name, unless its path gives it one") {
  const Places places;
  for (const auto& [put, path] : std::vector<std::pair<std::string, std::string>>{
           {"/f", "f"},
           {"/f:g", "g"},
           {"/f:g/", "g/f"},
           {"/f:a//b/", "a/b/f"},
           {"/f:.", "f"},
           {"/f:/workspace", "/workspace/f"},
           {"/f:/tmp/x", "/tmp/x"},
           {"/d", "d"},
           {"/d/", "d"},
           {"/d:e", "e"},
           {"/d:e/", "e/d"},
           {"/d:.", "."},
           {"/d/.", "d"},
       })
    CHECK_MESSAGE(places.path_of(put) == path, put);
  CHECK(checked({.puts = {"."}}).puts.front().path == ".");
  CHECK(checked({.puts = {".."}}).puts.front().path == ".");
}

TEST_CASE(
    "what is got goes into a directory that is there, or appears under the name that is said") {
  const Places places;
  for (const auto& [path, local, place] :
       std::vector<std::array<std::string, 3>>{{"a", "/b", "/b"},
                                               {"x/a", "/d", "/d/a"},
                                               {"x/a/", "/d/", "/d/a"},
                                               {"a", "/new/", "/new/a"},
                                               {".", "/d", "/d"},
                                               {".", "/new", "/new"}})
    CHECK_MESSAGE(places.local_of(path, local) == place, local);
  CHECK(checked({.gets = {"x/a"}}).gets.front().local == "a");
  CHECK(checked({.gets = {"/workspace/x//a"}}).gets.front().path == "/workspace/x/a");
}

TEST_CASE("transfers that mean nothing are refused") {
  const std::string long_name(300, 'x');
  for (const std::string& put :
       {std::string(), std::string(":a"), std::string("a:"), "a:" + long_name})
    CHECK_THROWS_AS(checked({.puts = {put}}), CLI::ValidationError);
  for (const std::string& get :
       {std::string(), std::string(":a"), std::string("a:"), std::string("."), std::string("/"),
        std::string(".."), long_name + ":a"})
    CHECK_THROWS_AS(checked({.gets = {get}}), CLI::ValidationError);
  CHECK_THROWS_AS(checked({.gets = {"a", "x/a"}}), CLI::ValidationError);
  CHECK_NOTHROW(checked({.gets = {"a", "x/a:b"}}));
}

TEST_CASE(
    "nothing is overwritten without --force, and what is there is no file or directory never") {
  const Places places;
  const std::string here = places.here;
  REQUIRE(::mkfifo((here + "/fifo").c_str(), 0600) == 0);
  REQUIRE(::symlink("f", (here + "/link").c_str()) == 0);
  for (const char* name : {"/f", "/d", "/fifo", "/link"})
    CHECK_MESSAGE(places.is_refused({.gets = {{"a", here + name}}}), name);
  for (const char* name : {"/fifo", "/link", "/none/a", "/f/a"})
    CHECK_MESSAGE(places.is_refused({.gets = {{"a", here + name}}, .force = true}), name);
  CHECK_FALSE(places.is_refused({.gets = {{"a", here + "/f"}, {"b", here + "/d"}}, .force = true}));
  CHECK_FALSE(places.is_refused({.gets = {{"a", here + "/new"}}}));
  CHECK_FALSE(std::filesystem::exists(here + "/new"));
}

TEST_CASE("--save makes its directory, which is empty without --force") {
  const Places places;
  const std::string here = places.here;
  CHECK_FALSE(places.is_refused({.save = here + "/d"}));
  CHECK_FALSE(places.is_refused({.save = here + "/new/deep"}));
  CHECK(std::filesystem::is_directory(here + "/new/deep"));
  CHECK(places.is_refused({.save = here}));
  CHECK_FALSE(places.is_refused({.save = here, .force = true}));
  CHECK(places.is_refused({.save = here + "/f", .force = true}));
}

TEST_CASE("what is to be put must be there") {
  const Places places;
  CHECK(places.is_refused({.puts = {{places.here + "/none", "a"}}}));
  CHECK(places.is_refused({.puts = {{"/dev/null", "a"}}}));
  CHECK_FALSE(places.is_refused({.puts = {{places.here + "/f", "a"}, {places.here + "/d", "b"}}}));
}

}  // namespace hearth::cli
