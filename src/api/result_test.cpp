#include "api/result.h"

#include "api/event_stream.h"

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <set>
#include <string>

using namespace hearth;
using execution::ExecutionResult;
using execution::Verdict;

namespace {

boost::json::object parsed(const std::string& json) { return boost::json::parse(json).as_object(); }

std::set<std::string> names_in(const boost::json::object& object) {
  std::set<std::string> names;
  for (const auto& member : object) names.emplace(member.key());
  return names;
}

const std::set<std::string> always{"execution_id", "session_id", "verdict", "started", "exit_code",
                                   "stdout",       "stderr",     "text",    "value",   "error",
                                   "truncated",    "usage",      "sandbox"};

ExecutionResult full_result() {
  ExecutionResult result{.verdict = Verdict::error, .started = true};
  result.exit_code = 2;
  result.signal = 11;
  result.state_lost = true;
  result.usage = {0.002, 0.0015, 17'268'736, 2};
  result.stdout_text = "1\n";
  result.stderr_text = "2";
  result.output_order = {{false, 2}, {true, 1}};
  result.result = wire::JsonText{"123456789012345678901234567890"};
  result.error = wire::ScriptError{"ValueError", "no", "ValueError: no\n"};
  result.intermediates = {{"found", {R"({"n":2})"}}};
  result.displays = {{{R"({"text/plain":"<Figure>"})"}, false}, {{R"({"text/plain":"1"})"}, true}};
  result.logs = {{"info", "message"}};
  result.degraded = {"memory", "cpu"};
  result.python = {"3.11.2", "/usr/bin/python3.11"};
  result.detail = "why";
  return result;
}

}  // namespace

TEST_CASE("a result has every field that a caller may rely on, and no empty others") {
  const auto object = parsed(api::result_json({.verdict = Verdict::cancelled}, {.id = "ex_1"}));
  CHECK(names_in(object) == always);
  CHECK(object.at("execution_id") == "ex_1");
  CHECK(object.at("verdict") == "cancelled");
  for (const char* name : {"session_id", "exit_code", "value", "error", "truncated", "sandbox"})
    CHECK_MESSAGE(object.at(name).is_null(), name);
}

TEST_CASE("a result says everything that there is to say") {
  const std::string json = api::result_json(full_result(), {.id = "ex_1",
                                                            .session_id = "ses_1",
                                                            .file = "a.py",
                                                            .sandbox_id = "sb_1",
                                                            .queued_seconds = 0.25,
                                                            .is_step = true});
  auto expected = always;
  expected.merge(std::set<std::string>{"final_result", "displays", "intermediates", "logs",
                                       "signal", "state_lost", "detail", "file"});
  const auto object = parsed(json);
  CHECK(names_in(object) == expected);
  CHECK(json.find(R"("final_result":123456789012345678901234567890)") != std::string::npos);
  CHECK(json.find(R"("value":{"text/plain":"1"})") != std::string::npos);
  CHECK(json.find(R"("displays":[{"text/plain":"<Figure>"}])") != std::string::npos);
  CHECK(json.find(R"("error":{"name":"ValueError","message":"no","traceback":)") !=
        std::string::npos);
  CHECK(json.find(R"("usage":{"wall_seconds":0.002,"queued_seconds":0.25,"cpu_seconds":0.0015,)"
                  R"("peak_memory_bytes":17268736,"output_bytes":2})") != std::string::npos);
  CHECK(json.find(R"("sandbox":{"id":"sb_1","checkout":"warm","degraded":["memory","cpu"],)"
                  R"("python":"3.11.2","python_path":"/usr/bin/python3.11"})") !=
        std::string::npos);
  CHECK(object.at("exit_code") == 2);
  CHECK(object.at("state_lost") == true);
}

TEST_CASE("only a step can have lost variables, also with its sandbox") {
  ExecutionResult result{.verdict = Verdict::lost};
  CHECK(parsed(api::result_json(result, {.is_step = true})).contains("state_lost"));
  CHECK_FALSE(parsed(api::result_json(result, {})).contains("state_lost"));
  result.sandbox_usable = true;
  CHECK_FALSE(parsed(api::result_json(result, {.is_step = true})).contains("state_lost"));
}

TEST_CASE("what is left out of the text is counted") {
  ExecutionResult result{.verdict = Verdict::ok};
  result.stdout_text = std::string(300, 'x');
  result.output_order = {{false, 300}};
  const auto object = parsed(api::result_json(result, {}, {.max_text_bytes = 100}));
  CHECK(object.at("text").as_string().size() <= 100);
  CHECK(object.at("truncated").at("text_bytes").as_int64() > 200);
  CHECK(object.at("truncated").at("stdout_bytes") == 0);
  CHECK(object.at("stdout").as_string().size() == 300);
}

TEST_CASE("C8: what the sandbox left out of an output is told") {
  ExecutionResult result{.verdict = Verdict::ok};
  result.truncated = wire::Truncated{1, 2, 3, 4};
  const auto object = parsed(api::result_json(result, {}));
  CHECK(object.at("truncated") ==
        boost::json::parse(
            R"({"stdout_bytes":1,"stderr_bytes":2,"displays":3,"events":4,"text_bytes":0})"));
}

TEST_CASE("a stream has a start, what the script did, and an end without what was sent before") {
  api::EventStream stream;
  const api::Execution execution{.id = "ex_1", .file = "a.py"};
  CHECK(stream.start(execution) ==
        R"({"type":"start","execution_id":"ex_1","session_id":null,"file":"a.py","seq":0,"at":0})"
        "\n");
  CHECK(stream.event({"ex_1", wire::Stdout{"hi\n"}}, 0.25) ==
        R"({"type":"stdout","execution_id":"ex_1","text":"hi\n","seq":1,"at":0.25})"
        "\n");
  CHECK(stream.event({"ex_1", wire::ScriptDone{}}, 0.5).empty());
  CHECK(stream.event({"ex_1", wire::Display{{"{}"}, true}}, 0.5) ==
        R"({"type":"display","execution_id":"ex_1","data":{},"value":true,"seq":2,"at":0.5})"
        "\n");
  const auto end = parsed(stream.end(full_result(), execution, 1));
  CHECK(end.at("type") == "end");
  CHECK(end.at("seq") == 3);
  const auto& result = end.at("result").as_object();
  for (const char* name : {"stdout", "stderr", "displays"})
    CHECK_MESSAGE(!result.contains(name), name);
  CHECK(result.at("verdict") == "error");
  CHECK(result.contains("value"));
}
