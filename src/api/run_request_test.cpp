#include "api/run_request.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <utility>

using namespace hearth;
using api::ProblemCode;

namespace {

api::Problem problem_with(const std::string& json) {
  try {
    api::parse_run_request(json);
  } catch (const api::RequestRefused& error) {
    return error.problem;
  }
  FAIL_CHECK("accepted: " << json);
  return {};
}

std::string complaint_about(const std::string& json) {
  const api::Problem problem = problem_with(json);
  CHECK(problem.code == ProblemCode::invalid_request);
  return problem.detail;
}

}  // namespace

TEST_CASE("a request says what to run, for how long, with which variables") {
  const api::RunRequest request = api::parse_run_request(
      R"({"code":"print(1)\n","language":"python","timeout_seconds":0.5,"env":{"A":"1","B":""},)"
      R"("output":"truncate"})");
  CHECK(request.code == "print(1)\n");
  CHECK(request.timeout_seconds == 0.5);
  CHECK(request.env == std::map<std::string, std::string>{{"A", "1"}, {"B", ""}});
  CHECK(request.output == blueprint::OutputMode::truncate);
  CHECK(complaint_about(R"({"code":"1","output":"cut"})") ==
        "output must be \"fail\" or \"truncate\"");
}

TEST_CASE("a field that is null is as good as absent") {
  const api::RunRequest request =
      api::parse_run_request(R"({"code":"1","shell":null,"tools":null,"timeout_seconds":null})");
  CHECK(request.code == "1");
  CHECK_FALSE(request.timeout_seconds);
}

TEST_CASE("exactly one program belongs to a request") {
  CHECK(complaint_about("{}") ==
        "code is missing: exactly one of code, command and shell is needed");
  CHECK(complaint_about(R"({"code":"1","command":["ls"]})") ==
        "command stands beside code: exactly one of code, command and shell is needed");
}

TEST_CASE("a request runs code in a language, a program or a line for a shell") {
  const pool::Binding binding{.blueprint = "small", .owner = "me"};
  const auto turn = [&](const char* json) {
    return api::turn_request_of(api::parse_run_request(json), binding);
  };
  const auto script = turn(R"({"code":"echo $1","language":"bash","args":["a"],"cwd":"/tmp"})");
  CHECK(script.script == "echo $1");
  CHECK(script.language == "bash");
  CHECK(script.args == std::vector<std::string>{"a"});
  CHECK(script.directory == "/tmp");
  CHECK(turn(R"({"command":["ls","-l"]})").command == std::vector<std::string>{"ls", "-l"});
  CHECK(turn(R"({"shell":"ls | wc"})").shell == "ls | wc");
}

TEST_CASE("a request brings files, and names those that it wants back") {
  const api::RunRequest request = api::parse_run_request(
      R"({"code":"1","files":{"a.csv":{"text":"a,b\n"},"bin/x":{"base64":"AP8=","mode":"0755"}},)"
      R"("return_files":["out/*.png","r.json"]})");
  CHECK(request.files ==
        api::NewFiles{{"a.csv", {"a,b\n", {}}}, {"bin/x", {std::string("\0\xff", 2), 0755}}});
  CHECK(request.return_files == std::vector<std::string>{"out/*.png", "r.json"});
}

TEST_CASE("files that make no sense are refused by their names") {
  for (const char* file : {R"("a")", "{}", R"({"text":"a","base64":"AA=="})", R"({"base64":"A"})",
                           R"({"text":1})", R"({"text":"a","mode":"0999"})",
                           R"({"text":"a","mode":"4755"})", R"({"text":"a","owner":"root"})"}) {
    CAPTURE(file);
    const auto problem =
        problem_with(R"({"code":"1","files":{"a.csv":)" + std::string(file) + "}}");
    REQUIRE(problem.errors.size() == 1);
    CHECK(problem.errors[0].field == "files.\"a.csv\"");
  }
  for (const char* path : {"../a", "", "a//b", "a/."}) {
    CAPTURE(path);
    complaint_about(R"({"code":"1","files":{")" + std::string(path) + R"(":{"text":""}}})");
    complaint_about(R"({"code":"1","return_files":[")" + std::string(path) + R"("]})");
  }
  complaint_about(R"({"code":"1","return_files":["/etc/passwd"]})");
}

TEST_CASE("what only some programs can have is refused for the others") {
  for (const char* json : {R"({"code":"1","language":"python","args":["a"]})",
                           R"({"code":"1","language":"python","cwd":"/tmp"})",
                           R"({"shell":"ls","output":"truncate"})"}) {
    CAPTURE(json);
    CHECK(problem_with(json).code == ProblemCode::not_implemented);
  }
}

TEST_CASE("code that names no language has what that of the blueprint can have") {
  pool::Binding binding{.blueprint = "small", .owner = "me"};
  const auto is_refused = [&](const char* json) {
    try {
      api::turn_request_of(api::parse_run_request(json), binding);
      return false;
    } catch (const api::RequestRefused& refused) {
      CHECK(refused.problem.code == ProblemCode::not_implemented);
      return true;
    }
  };
  const char* const with_arguments = R"({"code":"1","args":["a"]})";
  const char* const with_directory = R"({"code":"1","cwd":"/tmp"})";
  const char* const with_output = R"({"code":"1","output":"truncate"})";
  CHECK(is_refused(with_arguments));
  CHECK(is_refused(with_directory));
  CHECK_FALSE(is_refused(with_output));
  binding.language = "bash";
  CHECK_FALSE(is_refused(with_arguments));
  CHECK_FALSE(is_refused(with_directory));
  CHECK(is_refused(with_output));
}

TEST_CASE("an unknown field is refused, with what was probably meant") {
  CHECK(complaint_about(R"({"coed":"1","code":"1"})") ==
        "coed is not a known field; did you mean \"code\"?");
  CHECK(complaint_about(R"({"script":"1","code":"1"})") ==
        "script is not a known field; did you mean \"code\"?");
  CHECK(complaint_about(R"({"timeout":1,"code":"1"})") ==
        "timeout is not a known field; did you mean \"timeout_seconds\"?");
  CHECK(complaint_about(R"({"colour":1,"code":"1"})") == "colour is not a known field");
}

TEST_CASE("all that is wrong is said at once") {
  const api::Problem problem =
      problem_with(R"({"code":1,"timeout_seconds":-1,"env":{"A":1},"nope":1})");
  REQUIRE(problem.errors.size() == 4);
  CHECK(problem.errors[0].field == "code");
  CHECK(problem.errors[1].field == "timeout_seconds");
  CHECK(problem.errors[2].field == "env.A");
  CHECK(problem.errors[3].field == "nope");
}

TEST_CASE("values that make no sense are refused") {
  for (const auto& [json, complaint] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"code":["1"]})", "code must be a string"},
           {R"({"code":"1","timeout_seconds":"5"})", "timeout_seconds must be a number"},
           {R"({"code":"1","timeout_seconds":0})",
            "timeout_seconds must be more than 0 and at most a year"},
           {R"({"code":"1","timeout_seconds":1e9})",
            "timeout_seconds must be more than 0 and at most a year"},
           {R"({"code":"1","env":["A"]})", "env must be an object"},
           {R"({"code":"1","language":"perl"})",
            "language must be one of python, bash, javascript"},
           {R"({"command":"ls"})", "command must be an array of strings"},
           {R"({"command":["ls",1]})", "command must be an array of strings"},
           {R"({"command":[]})", "command must begin with a program"},
           {R"({"command":["ls"],"args":["-l"]})", "args belong into command, behind the program"},
           {R"({"shell":""})", "shell must not be empty"},
           {R"({"shell":"ls","language":"bash"})", "language is for code"}}) {
    CAPTURE(json);
    CHECK(complaint_about(json) == complaint);
  }
}

TEST_CASE("what is not one JSON object is refused") {
  for (const char* text : {"", "{", "[]", "1", "{} {}", R"({"code":"1","code":"2"})", "\xff"}) {
    CAPTURE(text);
    CHECK(problem_with(text).code == ProblemCode::invalid_request);
  }
}

TEST_CASE("a field that cannot be acted on is refused, not ignored") {
  const api::Problem problem = problem_with(R"({"code":"1","tools":[],"limits":{}})");
  CHECK(problem.code == ProblemCode::not_implemented);
  CHECK(problem.detail ==
        "tools is not implemented yet; limits is decided when the session starts, not for each "
        "run");
}

TEST_CASE("a turn gets no more time than its lease allows") {
  pool::Binding binding{.blueprint = "small", .owner = "me"};
  binding.limits.execution_timeout_sec = 10;
  const auto turn = [&](double timeout_seconds) {
    return api::turn_request_of({.code = "1", .timeout_seconds = timeout_seconds}, binding);
  };
  CHECK(turn(10).time_limit == std::chrono::seconds(10));
  CHECK(turn(0.0001).time_limit == std::chrono::milliseconds(1));
  CHECK_THROWS_WITH_AS(
      turn(10.5),
      "timeout_seconds must be at most 10, as for \"small\" (execution_timeout_sec), is 10.5",
      api::RequestRefused);
  CHECK_FALSE(api::turn_request_of({.code = "1"}, binding).time_limit);
}
