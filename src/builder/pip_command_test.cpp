#include "builder/pip_command.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

using namespace hearth::builder;

namespace {

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

struct Variable {
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  const char* name_;
};

}  // namespace

TEST_CASE("the index and the directories of wheels are pip's") {
  const PipOptions options{
      .index_url = "https://index.example/simple", .find_links = {"/a b", "/c"}, .no_index = true};
  const auto arguments = pip_arguments(options, "/target", "/requirements.txt");
  CHECK(has(arguments, "--no-index"));
  const auto links = std::find(arguments.begin(), arguments.end(), "--find-links");
  REQUIRE(arguments.end() - links == 4);
  CHECK(links[1] == "/a b");
  CHECK(links[3] == "/c");
  CHECK(has(build_variables(options, "/home"), "PIP_INDEX_URL=https://index.example/simple"));
  CHECK_FALSE(has(arguments, "https://index.example/simple"));

  CHECK_FALSE(has(pip_arguments({}, "/target", "/requirements.txt"), "--no-index"));
}

TEST_CASE("only wheels are installed unless source builds are allowed") {
  const auto arguments = pip_arguments({}, "/target", "/requirements.txt");
  const auto option = std::find(arguments.begin(), arguments.end(), "--only-binary");
  REQUIRE(arguments.end() - option == 2);
  CHECK(option[1] == ":all:");
  CHECK_FALSE(has(pip_arguments({.allow_source_builds = true}, "/target", "/r"), "--only-binary"));
}

TEST_CASE("the files that pip reads are those of its options, by their paths") {
  const PipOptions options{.index_url = "file:///usr/share", .find_links = {"/etc", "/no/such"}};
  const auto files =
      files_of_pip(options, {"tiny", "a @ file:///usr/l%69b#egg=a", "b @ https://x/etc"});
  CHECK(std::find(files.begin(), files.end(), "/etc") != files.end());
  CHECK(std::find(files.begin(), files.end(), "/usr/share") != files.end());
  CHECK(std::find(files.begin(), files.end(), "/usr/lib") != files.end());
  CHECK(std::find(files.begin(), files.end(), "/no/such") == files.end());
}

TEST_CASE("of the caller's variables only those pass that do not change what is built") {
  const Variable proxy("https_proxy", "http://proxy:3128");
  const Variable pip("PIP_INDEX_URL", "https://elsewhere.example");
  const Variable flags("PYTHONPATH", "/somewhere");
  const auto variables = build_variables({}, "/build/home");
  CHECK(has(variables, "https_proxy=http://proxy:3128"));
  CHECK(has(variables, "HOME=/build/home"));
  CHECK(has(variables, "PIP_CONFIG_FILE=/dev/null"));
  for (const std::string& variable : variables) {
    CHECK(variable.find("elsewhere") == std::string::npos);
    CHECK(variable.find("/somewhere") == std::string::npos);
  }
}
