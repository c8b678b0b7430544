#include "api/text.h"

#include <doctest/doctest.h>

#include <string>

using namespace hearth;
using api::Execution;
using execution::ExecutionResult;
using execution::Verdict;

namespace {

// What a sandbox says, as the executor collects it.
struct Turn {
  ExecutionResult result{.verdict = Verdict::ok, .started = true, .sandbox_usable = true};

  Turn& out(const std::string& text) { return print(result.stdout_text, text, false); }
  Turn& err(const std::string& text) { return print(result.stderr_text, text, true); }
  Turn& display(const std::string& json, bool is_value) {
    result.displays.push_back({{json}, is_value});
    return *this;
  }
  Turn& raise(const std::string& name, const std::string& message, std::string traceback = "") {
    result.verdict = Verdict::error;
    result.error = wire::ScriptError{name, message, std::move(traceback)};
    return *this;
  }
  std::string text(const Execution& execution = {}) const {
    return api::text_of(result, execution).text;
  }

 private:
  Turn& print(std::string& stream, const std::string& text, bool is_stderr) {
    stream += text;
    result.output_order.push_back({is_stderr, text.size()});
    return *this;
  }
};

std::string lines(const std::string& line, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += line + '\n';
  return text;
}

}  // namespace

TEST_CASE("text: what was printed comes first, both streams as they came") {
  CHECK(Turn().out("a\n").err("b\n").out("c").err("d\n").text() == "a\nb\ncd");
  CHECK(Turn().out("\x1b[31m10%\r100%\x1b[0m\n").text() == "100%");
}

TEST_CASE("text: value, final result, images, traceback and notes follow, each on its own line") {
  Turn turn;
  turn.out("printed\n\n")
      .display(R"({"text/plain":"<Figure>","image/png":"AAAAAA=="})", false)
      .display(R"({"text/plain":"\u001b[1m21\u001b[0m","image/svg+xml":"<svg/>"})", true)
      .raise("ValueError", "no", "Traceback:\n  line 1\nValueError: no\n");
  turn.result.result = wire::JsonText{R"({"n":2})"};
  turn.result.exit_code = 2;
  CHECK(turn.text() ==
        "printed\n"
        "21\n"
        "final_result: {\"n\":2}\n"
        "[image 1: image/png, 4 bytes]\n"
        "[image 2: image/svg+xml, 6 bytes]\n"
        "Traceback:\n  line 1\nValueError: no\n"
        "[exit code 2]");
}

TEST_CASE("text: what has no traceback is one line") {
  Turn turn;
  turn.raise("MemoryLimit", "more than 256 MB (limits.memory_mb)");
  turn.result.verdict = Verdict::memory_limit;
  CHECK(turn.text() == "MemoryLimit: more than 256 MB (limits.memory_mb)");
}

TEST_CASE("text: notes say what became of a turn and of a session's variables") {
  const Execution step{.timeout_seconds = 0.5, .is_step = true};
  Turn turn;
  turn.result.verdict = Verdict::timeout;
  CHECK(turn.text({.timeout_seconds = 30}) == "[timeout after 30 s]");
  CHECK(turn.text(step) == "[timeout after 0.5 s; variables are kept]");
  turn.result.state_lost = true;
  CHECK(turn.text(step) == "[timeout after 0.5 s]\n[the variables of earlier steps are lost]");
  turn.result.sandbox_usable = false;
  CHECK(turn.text(step) ==
        "[timeout after 0.5 s]\n[the variables and files of earlier steps are lost]");
  turn.result.verdict = Verdict::lost;
  turn.result.detail = "the stream ended";
  CHECK(turn.text() == "[the sandbox was lost: the stream ended]");
  CHECK(Turn{{.verdict = Verdict::cancelled, .started = true}}.text() == "[cancelled]");
  CHECK(Turn{{.verdict = Verdict::cancelled}}.text() == "[cancelled before it started]");
}

TEST_CASE("text: a resumed session says what it no longer has") {
  Execution step{.resumed = api::Resumed{.source = "snapshot"}, .is_step = true};
  CHECK(Turn().text(step) == "[ok, no output]");
  step.resumed->lost_variables = {"conn", "f"};
  CHECK(Turn().text(step) == "[resumed from a snapshot; lost: conn, f]");
  step.resumed->work_lost = true;
  CHECK(Turn().text(step) ==
        "[resumed from a snapshot; what was done after the last pause is lost; lost: conn, f]");
  step.resumed = api::Resumed{.source = "fresh", .work_lost = true};
  CHECK(Turn().text(step) ==
        "[resumed with an empty workspace; what was done after the last pause is lost]");
  step.resumed =
      api::Resumed{.source = "snapshot", .lost_variables = std::vector<std::string>(22, "x")};
  CHECK(Turn().text(step).ends_with("x and 2 more]"));
}

TEST_CASE("text: it is never empty and never blank") {
  CHECK(Turn().text() == "[ok, no output]");
  CHECK(Turn().out(" \n\t\r\n").text() == "[ok, no output]");
  CHECK(Turn{{.verdict = Verdict::output_limit}}.text() == "[output_limit]");
  CHECK(Turn().out("  indented\n").text() == "  indented");
}

TEST_CASE("text: over the cap the middle of the output is left out, at line ends") {
  Turn turn;
  turn.out(lines("head line", 1000)).out(lines("tail line", 4000)).raise("E", "no", "E: no\n");
  const api::Text text = api::text_of(turn.result, {.id = "ex_9f", .is_kept = true}, 2000);
  CHECK(text.text.size() <= 2000);
  CHECK(text.text.size() > 1950);
  const std::size_t marker = text.text.find("[… ");
  REQUIRE(marker != std::string::npos);
  const std::size_t marker_end = text.text.find("]\n", marker);
  CHECK(text.text.substr(0, marker) == lines("head line", marker / 10));
  CHECK(marker > 1150);  // 60%
  CHECK(marker < 1200);
  const std::string tail = text.text.substr(marker_end + 2);
  CHECK(tail.size() > 700);  // 40%, less the marker
  CHECK(tail == lines("tail line", tail.size() / 10) + "E: no");
  // What is said to be missing is what is missing.
  const std::uint64_t shown =
      marker - 1 + (text.text.size() - marker_end - 2 - std::string("\nE: no").size());
  CHECK(text.left_out_bytes == 50'000 - 1 - shown);
  CHECK(text.text.substr(marker, marker_end - marker + 1) ==
        "[… " + std::to_string(text.left_out_bytes).insert(2, ",") +
            " bytes left out; the rest: execution ex_9f]");
}

TEST_CASE("text: output goes before the value, the value before the traceback") {
  Turn turn;
  turn.out(lines("printed", 1000))
      .display(R"({"text/plain":")" + std::string(3000, 'v') + R"("})", true)
      .raise("E", "no", lines("frame", 100) + "E: no\n");
  const std::string most = api::text_of(turn.result, {}, 4000).text;
  CHECK(most.find(std::string(3000, 'v') + "\nframe") != std::string::npos);
  CHECK(most.find(lines("frame", 100)) != std::string::npos);
  const std::string less = api::text_of(turn.result, {}, 1500).text;
  CHECK(less.size() <= 1500);
  CHECK(less.starts_with("[… 7,999 bytes left out]\nvv"));
  CHECK(less.find(lines("frame", 100)) != std::string::npos);
  const std::string least = api::text_of(turn.result, {}, 300).text;
  CHECK(least.size() <= 300);
  CHECK(least.starts_with("[… 7,999 bytes left out]\n[… 3,000 bytes left out]\nframe\n"));
  CHECK(least.ends_with("frame\nE: no"));
}

TEST_CASE("text: a long line is cut between characters, and nothing exceeds the cap") {
  std::string wide;
  for (int i = 0; i < 2000; ++i) wide += "ä";
  for (std::size_t cap = 100; cap < 140; ++cap) {
    const std::string text = api::text_of(Turn().out(wide).result, {}, cap).text;
    CAPTURE(cap);
    CHECK(text.size() <= cap);
    CHECK(text.starts_with("ää"));
    CHECK(text.ends_with("ää"));
    CHECK(text.find("ä\n[… ") != std::string::npos);
    CHECK(text.find("]\nä") != std::string::npos);
  }
  Turn images;
  for (int i = 0; i < 100; ++i) images.display(R"({"image/png":"AAAA"})", false);
  images.result.result = wire::JsonText{'"' + std::string(5000, 'r') + '"'};
  const api::Text text = api::text_of(images.result, {}, 500);
  CHECK(text.text.size() <= 500);
  CHECK(text.left_out_bytes > 5000);
}

TEST_CASE("sizes are said as people read them") {
  CHECK(api::size_in_words(0) == "0 bytes");
  CHECK(api::size_in_words(1) == "1 byte");
  CHECK(api::size_in_words(999) == "999 bytes");
  CHECK(api::size_in_words(10'234) == "10 kB");
  CHECK(api::size_in_words(999'700) == "1.0 MB");
  CHECK(api::size_in_words(34'000'000) == "34 MB");
}
