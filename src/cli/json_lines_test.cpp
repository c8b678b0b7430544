#include "cli/json_lines.h"

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

TEST_CASE("the verdict's line says what happened") {
  execution::ExecutionResult result;
  result.verdict = execution::Verdict::crashed;
  result.started = true;
  result.signal = 11;
  result.usage = {0.5, 0.25, 1024, 7};
  CHECK(cli::verdict_line(result, "a.py") ==
        R"({"type":"verdict","verdict":"crashed","file":"a.py","started":true,"signal":11,)"
        R"("wall_seconds":0.5,"cpu_seconds":0.25,"peak_memory_bytes":1024,"output_bytes":7})"
        "\n");
}
