#include "base/log.h"

#include <doctest/doctest.h>

using namespace hearth;

TEST_CASE("a text record keeps its fields apart and on one line") {
  CHECK(log::render(
            log::Format::text, log::Level::warning, "slow spawn",
            {{"sandbox", "a1"}, {"ms", 1200}, {"why", "two words\nand more"}, {"none", ""}}) ==
        R"(warning slow spawn sandbox=a1 ms=1200 why="two words\nand more" none="")");
}

TEST_CASE("a JSON record is one object whatever its fields hold") {
  CHECK(log::render(log::Format::json, log::Level::info, "a \"quoted\" thing",
                    {{"bytes", "\xff"}, {"n", 1}}) ==
        "{\"level\":\"info\",\"message\":\"a \\\"quoted\\\" "
        "thing\",\"bytes\":\"\xEF\xBF\xBD\",\"n\":\"1\"}");
}
