#include "wire/json_object.h"

#include "wire/protocol_error.h"

#include <doctest/doctest.h>

#include <string>

using namespace hearth::wire;

TEST_CASE("an object comes apart into its members and what is nested stays text") {
  const auto members = parse_object(
      R"( {"a": "x\n\u00e4\ud83d\ude00", "b": [1, {"c" : [] , "d":"\""}, "e"], "f":true,"g":null,"h":{}} )");
  REQUIRE(members.size() == 5);
  CHECK(members[0].key == "a");
  CHECK(members[0].kind == JsonKind::string);
  CHECK(members[0].text == "x\nä😀");
  CHECK(members[1].kind == JsonKind::array);
  CHECK(members[1].text == R"([1,{"c":[],"d":"\""},"e"])");
  CHECK(members[2].kind == JsonKind::boolean);
  CHECK(members[2].text == "true");
  CHECK(members[3].kind == JsonKind::null);
  CHECK(members[4].kind == JsonKind::object);
  CHECK(members[4].text == "{}");
}

TEST_CASE("numbers keep every digit they were written with") {
  const std::string digits = "1267650600228229401496703205376";
  for (const std::string& number :
       {digits, std::string("-0.10"), std::string("1E+2"),
        std::string("3.141592653589793238462643"), std::string(400, '7')}) {
    const auto members = parse_object("{\"n\":" + number + ",\"nested\":[" + number + "]}");
    CHECK(members[0].text == number);
    CHECK(members[1].text == "[" + number + "]");
  }
}

TEST_CASE("what is not one strict JSON object is a protocol error") {
  for (const std::string text : {"",
                                 " ",
                                 "{",
                                 "{}x",
                                 "{}{}",
                                 "[]",
                                 "5",
                                 "null",
                                 "\"x\"",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "{a:1}",
                                 "{'a':1}",
                                 "{\"a\":NaN}",
                                 "{\"a\":Infinity}",
                                 "{\"a\":01}",
                                 "{\"a\":+1}",
                                 "{\"a\":.5}",
                                 "{\"a\":\"\n\"}",
                                 "{\"a\":\"\\x\"}",
                                 "{\"a\":\"\\ud800\"}",
                                 "{\"a\":\"\xff\"}",
                                 "{\"a\":\"\xc3\"}",
                                 "{\"a\":1 /* no */}",
                                 "{\"a\":1}\n{",
                                 "{\"a\":1,\"a\":2}",
                                 "{\"a\":1e99999999999}"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_object(text), ProtocolError);
  }
}

TEST_CASE("nesting is bounded, and inside the bound it costs no stack") {
  const auto nested = [](std::size_t levels) {
    return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  CHECK(parse_object(nested(200))[0].text.size() == 400);
  CHECK_THROWS_AS(parse_object(nested(300)), ProtocolError);
  CHECK_THROWS_AS(parse_object(nested(1'000'000)), ProtocolError);
}

TEST_CASE("only an environment may have many members") {
  std::string many = "{";
  for (std::size_t i = 0; i <= usual_members; ++i)
    many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"x\"";
  many += "}";
  CHECK(parse_object(many, any_number).size() == usual_members + 1);
  CHECK_THROWS_AS(parse_object(many), ProtocolError);
  CHECK_THROWS_AS(parse_object(" " + many), ProtocolError);
  CHECK(parse_object("{\"a\":" + many + "}").size() == 1);
}

TEST_CASE("an array of strings is nothing else") {
  CHECK(parse_string_array(R"(["a","b\n"])") == std::vector<std::string>{"a", "b\n"});
  CHECK(parse_string_array("[]").empty());
  for (const char* text : {"{}", "[1]", "[null]", "[[\"a\"]]", "\"a\"", "7"})
    CHECK_THROWS_AS(parse_string_array(text), ProtocolError);
}

TEST_CASE("an object of strings is the same whether or not it is written as we write it") {
  for (const std::string text :
       {R"({"type":"stdout","execution_id":"7","text":"line\n\ttab \"quoted\" \\ \u001b[0m ä😀"})",
        R"({"":""})", R"({"text":"\/\b\u0041"})"}) {
    const auto members = parse_object(text);
    const auto blank_before = parse_object(" " + text);
    REQUIRE(members.size() == blank_before.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      CHECK(members[i].key == blank_before[i].key);
      CHECK(members[i].kind == JsonKind::string);
      CHECK(members[i].text == blank_before[i].text);
    }
  }
  for (const std::string text :
       {R"({"a":"b","a":"c"})", R"({"a":"b",})", R"({"a":"b"}x)", R"({"a":"b")", R"({"a":"b)",
        R"({"a" "b"})", R"({"a":"b""c":"d"})", R"({,"a":"b"})", "{\"a\":\"\xff\"}"})
    CHECK_THROWS_AS(parse_object(text), ProtocolError);
}
