#include "docker/json_path.h"

#include <doctest/doctest.h>
#include <boost/json/parse.hpp>

using namespace hearth::docker;

TEST_CASE("what an engine says is read by the names on the way, whatever shape it has") {
  const boost::json::value said =
      boost::json::parse(R"({"State":{"Name":"up","Code":7,"Less":-7},"List":[1],"Nothing":null})");
  CHECK(text_at(said, {"State", "Name"}) == "up");
  CHECK(number_at(said, {"State", "Code"}) == 7);
  CHECK(at(said, {"List"}).if_array() != nullptr);
  CHECK(&at(said, {}) == &said);
  // Missing, of another kind, or inside of what holds nothing.
  CHECK(text_at(said, {"State", "Code"}).empty());
  CHECK(text_at(said, {"State", "Name", "First"}).empty());
  CHECK(number_at(said, {"State", "Name"}) == 0);
  CHECK(number_at(said, {"State", "Less"}) == 0);
  CHECK(at(said, {"Nothing", "More"}).is_null());
  CHECK(at(boost::json::parse("[{}]"), {"State"}).is_null());
}

TEST_CASE("an id is taken from an engine only if it is one") {
  const std::string id(64, 'a');
  const boost::json::value said = {{"Id", id},
                                   {"Image", "sha256:" + id},
                                   {"Slash", "/"},
                                   {"Long", id + "a"},
                                   {"Way", "../" + id},
                                   {"Other", std::string(64, 'g')},
                                   {"Big", std::string(64, 'A')}};
  CHECK(id_at(said, {"Id"}) == id);
  CHECK(image_id_at(said, {"Image"}) == "sha256:" + id);
  for (const char* name : {"Image", "Slash", "Long", "Way", "Other", "Big", "None"})
    CHECK_MESSAGE(id_at(said, {name}).empty(), name);
  for (const char* name : {"Id", "Slash", "Long", "Way", "Other", "Big", "None"})
    CHECK_MESSAGE(image_id_at(said, {name}).empty(), name);
}
