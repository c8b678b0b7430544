#include "builder/use_records.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace hearth::builder {

TEST_CASE("records of use that many write at the same time lose none") {
  const test::TemporaryDirectory place;
  constexpr int count = 16;
  std::atomic<int> ready = 0;
  std::atomic<int> failures = 0;
  std::vector<std::thread> writers;
  writers.reserve(count);
  for (int i = 0; i < count; ++i)
    writers.emplace_back([&, i] {
      ready += 1;
      while (ready < count) std::this_thread::yield();
      try {
        UseRecords(place.path(), std::to_string(i)).note("key", "box", "3.11", {});
      } catch (const std::exception&) {
        failures += 1;
      }
    });
  for (std::thread& writer : writers) writer.join();
  CHECK(failures == 0);
  const auto record = UseRecords(place.path(), "").find("key");
  REQUIRE(record);
  CHECK(record->by_configuration.size() == count);
}

TEST_CASE("an environment is of one configuration alone until another one uses it") {
  const test::TemporaryDirectory place;
  const UseRecords mine(place.path(), "mine.toml");
  const UseRecords other(place.path(), "other.toml");
  CHECK_FALSE(mine.is_ours_alone("key"));  // of another installation
  mine.note("key", "a", "3.11", {"one"});
  CHECK(mine.is_ours_alone("key"));
  CHECK_FALSE(other.is_ours_alone("key"));
  other.note("key", "b", "3.11", {"one"});
  CHECK_FALSE(mine.is_ours_alone("key"));
  mine.note("key", "c", "3.11", {"one"});
  CHECK(mine.find("key")->blueprints() == std::vector<std::string>{"a", "b", "c"});
  CHECK(mine.find("key")->configurations() == std::vector<std::string>{"mine.toml", "other.toml"});
  other.forget("key");
  CHECK(mine.is_ours_alone("key"));
  mine.remove("key");
  CHECK_FALSE(mine.find("key"));
}

}  // namespace hearth::builder
