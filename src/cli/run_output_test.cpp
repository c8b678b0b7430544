#include "cli/run_output.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace hearth;
using namespace hearth::cli;
using execution::Verdict;

namespace {

execution::ExecutionResult with_verdict(Verdict verdict) {
  execution::ExecutionResult result;
  result.verdict = verdict;
  result.usage = {0.0214, 1.5, 14 << 20, 3};
  return result;
}

}  // namespace

TEST_CASE("a run's exit code tells its verdict") {
  CHECK(exit_code_of(with_verdict(Verdict::ok)) == 0);
  CHECK(exit_code_of(with_verdict(Verdict::error)) == 1);
  CHECK(exit_code_of(with_verdict(Verdict::exited)) == 1);
  CHECK(exit_code_of(with_verdict(Verdict::output_limit)) == 1);
  CHECK(exit_code_of(with_verdict(Verdict::missing_secret)) == 2);
  CHECK(exit_code_of(with_verdict(Verdict::timeout)) == 124);
  CHECK(exit_code_of(with_verdict(Verdict::cancelled)) == 130);
  CHECK(exit_code_of(with_verdict(Verdict::memory_limit)) == 137);
  CHECK(exit_code_of(with_verdict(Verdict::lost)) == 137);
  auto crashed = with_verdict(Verdict::crashed);
  crashed.signal = 11;
  CHECK(exit_code_of(crashed) == 139);
}

TEST_CASE("a person sees the script's output as it is, and ours on lines of its own") {
  std::ostringstream out;
  std::ostringstream errors;
  const auto output = human_output(out, errors, {});
  output->event({"1", wire::Stdout{"no newline"}});
  output->event({"1", wire::Log{"info", "working"}});
  output->event({"1", wire::Stderr{"oops\n"}});
  output->event({"1", wire::Display{{R"({"text/plain":"<Table>","text/html":"<b>"})"}}});
  output->event({"1", wire::FinalResult{{R"({"a":1})"}}});
  output->ended(with_verdict(Verdict::ok), {.file = "a.py"});
  CHECK(out.str() == "no newline\n<Table>  [also as text/html]\n{\"a\": 1}\n");
  CHECK(errors.str() == "info: working\noops\nok a.py in 21 ms, 1.50 s of CPU, 14.0 MB\n");
}

TEST_CASE("with --json every event is a line, the result the last") {
  std::ostringstream out;
  const auto output = event_output(out);
  output->started({.id = "1"});
  output->event({"1", wire::Stdout{"hi\n"}});
  output->ended(with_verdict(Verdict::ok), {.id = "1"});
  output->started({.id = "2"});
  std::istringstream lines(out.str());
  for (const char* begin : {R"({"type":"start","execution_id":"1")", R"({"type":"stdout")",
                            R"({"type":"end","result":{"execution_id":"1",)",
                            R"({"type":"start","execution_id":"2","session_id":null,"seq":0)"}) {
    std::string line;
    std::getline(lines, line);
    CHECK_MESSAGE(line.starts_with(begin), line);
  }
}

TEST_CASE("with --json=result there is one line for each script") {
  std::ostringstream out;
  const auto output = result_output(out);
  output->started({.id = "1"});
  output->event({"1", wire::Stdout{"hi\n"}});
  CHECK(out.str().empty());
  output->ended(with_verdict(Verdict::ok), {.id = "1"});
  CHECK(out.str().starts_with(R"({"execution_id":"1","session_id":null,"verdict":"ok",)"));
  CHECK(out.str().find('\n') == out.str().size() - 1);
}
