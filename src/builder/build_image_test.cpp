#include "builder/build_image.h"

#include "tests/support/fake_engine.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <algorithm>
#include <fstream>
#include <thread>

using namespace hearth;
using namespace hearth::builder;

namespace {

namespace json = boost::json;

// In a thread of its own: a build has its own loop, and waits.
class Serving {
 public:
  explicit Serving(asio::io_context& loop) : loop_(loop), thread_([&loop] { loop.run(); }) {}
  ~Serving() {
    loop_.stop();
    thread_.join();
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  asio::io_context& loop_;
  std::thread thread_;
};

enum class Expects { look, no_look };

struct Fixture {
  explicit Fixture(Expects first = Expects::look) {
    plan.blueprint = "box";
    plan.checksum = "abc";
    plan.python_version = "3.11";
    options.programs.init = place.path() / "init";
    options.programs.harness = place.path() / "harness";
    place.write("init", "x");
    std::filesystem::create_directory(options.programs.harness);
    place.write("harness/__main__.py", "x");
    engine.will_say(test::pong);
    if (first == Expects::look)
      engine.will_say(test::answer("404 Not Found", R"({"message":"no such image"})"));
  }
  void build_says(const json::object& line) {
    engine.will_say(test::answer("200 OK", json::serialize(line) + "\n"));
  }
  void image_is_there() {
    const json::object labels{{image_recipe_label, plan_image(plan, options).recipe}};
    engine.will_say(test::answer(
        "200 OK", json::serialize(json::object{{"Id", id}, {"Config", {{"Labels", labels}}}})));
  }
  BuiltImage build() {
    const Serving serving(loop);
    return build_image(plan, options, engine.address(), {}, {});
  }
  long builds() const {
    return std::count_if(engine.requests.begin(), engine.requests.end(), [](const auto& line) {
      return line.find("/build?") != std::string::npos;
    });
  }

  std::string id = "sha256:" + std::string(64, 'a');
  test::TemporaryDirectory place;
  BuildPlan plan;
  ImageOptions options;
  asio::io_context loop{1};
  test::FakeEngine engine{loop};
};

const json::object lost_layer{
    {"errorDetail", {{"message", "failed to get digest sha256:7ea5: no such file or directory"}}},
    {"error", "failed to get digest sha256:7ea5: no such file or directory"}};

}  // namespace

TEST_CASE("a build whose layer was removed from the engine is done again") {
  Fixture f;
  f.build_says(lost_layer);
  f.build_says({{"stream", "Successfully tagged"}});
  f.image_is_there();
  CHECK(f.build().tag == image_tag(f.plan, f.options));
  CHECK(f.builds() == 2);
  CHECK(f.engine.requests.end() !=
        std::find_if(f.engine.requests.begin(), f.engine.requests.end(), [](const auto& line) {
          return line.find("&nocache=1") != std::string::npos;
        }));
}

TEST_CASE("an engine that goes on failing is believed") {
  Fixture f;
  for (int i = 0; i < 3; ++i) f.build_says(lost_layer);
  CHECK_THROWS_WITH_AS(f.build(), doctest::Contains("failed to get digest"), BuildError);
  CHECK(f.builds() == 3);
}

TEST_CASE("a build whose command failed is not done again") {
  Fixture f;
  const std::string why = "The command 'pip install' returned a non-zero code: 1";
  f.build_says({{"errorDetail", {{"code", 1}, {"message", why}}}, {"error", why}});
  CHECK_THROWS_WITH_AS(f.build(), doctest::Contains("non-zero code"), BuildError);
  CHECK(f.builds() == 1);
}

TEST_CASE("an image is known by the id that was found to be right, not by its tag alone") {
  Fixture f;
  f.build_says({{"stream", "Successfully tagged"}});
  f.image_is_there();
  CHECK(f.build().id == f.id);
}

TEST_CASE("an image without an id of its own is not used") {
  Fixture f;
  f.id = "../containers/x";
  f.build_says({{"stream", "Successfully tagged"}});
  f.image_is_there();
  CHECK_THROWS_WITH_AS(f.build(), doctest::Contains("the engine has not got it"), BuildError);
}

TEST_CASE("a base image that cannot be had is named with its key, and not asked for again") {
  Fixture f;
  const std::string why = "pull access denied for mine/python, repository does not exist";
  f.options.base_image = "mine/python:{version}-slim";
  f.build_says({{"errorDetail", {{"message", why}}}, {"error", why}});
  SUBCASE("without packages") {
    CHECK_THROWS_WITH_AS(
        f.build(),
        ("build the image of blueprint \"box\": its base image mine/python:3.11-slim ([docker] "
         "base_image) is neither on the engine nor can it be pulled: " +
         why)
            .c_str(),
        BuildError);
  }
  SUBCASE("packages are installed on another one") {
    f.plan.packages = {"tinypkg"};
    f.options.pip.allow_source_builds = true;
    f.engine.will_say(test::answer("200 OK", "[]"));  // the stages that are left
    CHECK_THROWS_WITH_AS(f.build(),
                         doctest::Contains("mine/python:3.11-slim ([docker] base_image) or "
                                           "mine/python:3.11 ([docker] build_image) is "),
                         BuildError);
  }
  CHECK(f.builds() == 1);
}

TEST_CASE("a rebuild neither looks for the image first nor takes layers of earlier builds") {
  Fixture f(Expects::no_look);
  f.plan.is_anew = true;
  f.build_says({{"stream", "Successfully tagged"}});
  f.image_is_there();
  CHECK(f.build().id == f.id);
  REQUIRE(f.engine.requests.size() == 3);
  CHECK(f.engine.requests[1].find("&nocache=1") != std::string::npos);
}
