#include "cli/pretty_json.h"

#include <doctest/doctest.h>

using namespace hearth;
using cli::pretty_json;

TEST_CASE("short values stay on one line, with blanks where people expect them") {
  CHECK(pretty_json("42") == "42");
  CHECK(pretty_json(R"("a,b:\"c\"")") == R"("a,b:\"c\"")");
  CHECK(pretty_json(R"({"a":1,"b":[1,2,"x,y"]})") == R"({"a": 1, "b": [1, 2, "x,y"]})");
  CHECK(pretty_json("[]") == "[]");
}

TEST_CASE("long values are indented, their short parts are not") {
  const std::string long_text(80, 'x');
  CHECK(pretty_json(R"({"name":")" + long_text +
                    R"(","list":[1,2],"n":123456789012345678901234567890})") ==
        "{\n  \"name\": \"" + long_text +
            "\",\n  \"list\": [1, 2],\n  \"n\": 123456789012345678901234567890\n}");
}
