#include "builder/build_log.h"

#include <doctest/doctest.h>

#include <vector>

using namespace hearth::builder;

TEST_CASE("lines are told whole, however they arrive") {
  std::vector<std::string> told;
  BuildLog log([&](std::string line) { told.push_back(std::move(line)); });
  for (const char* piece : {"on", "e\ntwo\nth", "", "ree"}) log.add(piece);
  CHECK(told == std::vector<std::string>{"one", "two"});
  log.add_line("four");
  CHECK(told == std::vector<std::string>{"one", "two", "three", "four"});
  CHECK(log.text() == "one\ntwo\nthree\nfour\n");
}

TEST_CASE("the reason is the last line that is called an error, else the last line") {
  BuildLog log({});
  log.add("ERROR: first\nERROR: second\n");
  CHECK(log.reason() == "second");
  log.add("note\n\n");
  CHECK(log.reason() == "second");
  BuildLog other({});
  other.add("one\ntwo\n\n");
  CHECK(other.reason() == "two");
}

TEST_CASE("which line of our own file asked for a package is left out") {
  BuildLog log({});
  log.add("ERROR: none for x (from -r /state/.building-1/requirements.txt (line 1)) at all\n");
  CHECK(log.text() == "ERROR: none for x at all\n");
  log.add("x (from -r other.txt\n");
  CHECK(log.reason() == "none for x at all");
  CHECK(log.text().ends_with("x (from -r other.txt\n"));
}

TEST_CASE("a log keeps no more than its limit and says so, but tells everything") {
  std::size_t told = 0;
  BuildLog log([&](const std::string&) { ++told; }, 10);
  log.add("12345\n12345\n12345\n");
  CHECK(told == 3);
  CHECK(log.text() == "12345\n(12 more bytes were not kept)\n");
  BuildLog endless([&](const std::string&) { ++told; });
  endless.add(std::string(200'000, 'x'));  // no line break at all
  CHECK(told == 4);
}
