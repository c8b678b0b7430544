#include "builder/pip_command.h"

#include "tests/support/temporary_directory.h"

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

TEST_CASE("a package that find_links does not have is told the name that was meant") {
  const hearth::test::TemporaryDirectory wheels;
  for (const char* name : {"Tiny_Pkg-1.0-py3-none-any.whl", "lru-dict-1.3.tar.gz", "-.whl"})
    wheels.write(name, "x");
  PipOptions options{.find_links = {wheels.path()}};
  const auto hint = [&](const std::string& package) {
    return hint_to("No matching distribution found for " + package, options);
  };
  CHECK(hint("tinypkg==1.0") == " (find_links has tiny-pkg)");
  // There is one, but no version that fits; or nothing like it; or no archive that may be built.
  for (const char* other : {"tiny-pkg>2", "pandas", "lru-dicts"})
    CHECK(hint(other).starts_with(" (only wheels are installed; "));
  options.allow_source_builds = true;
  CHECK(hint("lru-dicts") == " (find_links has lru-dict)");
  CHECK(hint("pandas").empty());
  CHECK(hint_to("something else", options).empty());
}

TEST_CASE("the files that pip reads are those of its options, by their paths") {
  const hearth::test::TemporaryDirectory wheels;
  for (const char* name : {"a-1-py3-none-any.whl", "index.html", "s-1.tar.gz"})
    wheels.write(name, "x");
  std::filesystem::create_symlink("a-1-py3-none-any.whl", wheels.path() / "link.whl");
  PipOptions options{.index_url = "file:///usr/share", .find_links = {wheels.path(), "/no/such"}};
  const auto files =
      files_of_pip(options, {"tiny", "a @ file:///usr/l%69b#egg=a", "b @ https://x/etc"});
  const auto is_shown = [&](const std::string& name) {
    const auto shown = files_of_pip(options, {});
    return std::find(shown.begin(), shown.end(), wheels.path() / name) != shown.end();
  };
  CHECK(is_shown("a-1-py3-none-any.whl"));
  CHECK_FALSE(is_shown(""));
  CHECK_FALSE(is_shown("index.html"));
  CHECK_FALSE(is_shown("link.whl"));
  CHECK_FALSE(is_shown("s-1.tar.gz"));
  options.allow_source_builds = true;
  CHECK(is_shown("s-1.tar.gz"));
  CHECK_FALSE(is_shown("index.html"));
  CHECK(std::find(files.begin(), files.end(), "/usr/share") != files.end());
  CHECK(std::find(files.begin(), files.end(), "/usr/lib") != files.end());
  CHECK(std::find(files.begin(), files.end(), "/no/such") == files.end());
}

TEST_CASE("wheels are known by their content, whatever their size and time") {
  const hearth::test::TemporaryDirectory wheels;
  const PipOptions options{.find_links = {wheels.path()}};
  const auto sources = [&] {
    hearth::registry::Digest digest;
    add_sources(digest, options);
    return digest.finish();
  };
  const auto put = [&](const std::string& content) {
    wheels.write("a.whl", content);
    std::filesystem::last_write_time(wheels.path() / "a.whl", {});
    return sources();
  };
  const std::string good = put("good");
  CHECK(put("evil") != good);
  CHECK(put("good") == good);
  const std::string large = put(std::string(3'000'000, 'x'));
  CHECK(put(std::string(2'999'999, 'x') + 'y') != large);
  wheels.write("b.whl", "");
  CHECK(sources() != large);
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
