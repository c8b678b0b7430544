#include "wire/decode.h"

#include "wire/encode.h"
#include "wire/protocol_error.h"
#include "wire/workspace_path.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace hearth::wire;

namespace {

std::string without_newline(std::string line) {
  CHECK(line.ends_with('\n'));
  line.pop_back();
  CHECK(line.find('\n') == std::string::npos);
  return line;
}

RunRequest a_run() {
  return {.execution_id = "e1",
          .script = "print('ä')\n\"\\\x01\x7f",
          .timeout_seconds = 0.25,
          .mode = Mode::interactive,
          .env = {{"A", "1\n2"}, {"B", ""}},
          .secrets = {"KEY", "OTHER"},
          .max_output_bytes = 18446744073709551615ULL};
}

WriteFileRequest a_file() {
  std::string bytes;
  for (int value = 0; value < 256; ++value) bytes += static_cast<char>(value);
  return {.path = "a/ä \"b\"\n", .data = bytes, .mode = 0xFFFFFFFF, .append = true};
}

std::vector<EventBody> bodies_of_every_type() {
  return {Ready{1, "3.11.2", "1"},
          Stdout{"a\tb\n\x1b[0m"},
          Stderr{"ü😀"},
          Log{"warning", "careful"},
          Intermediate{"label", {R"({"n":[1,2.50,1267650600228229401496703205376]})"}},
          Display{{R"({"text/plain":"2"})"}},
          FinalResult{{"\"text\""}},
          FinalResult{{"null"}},
          ScriptError{"ValueError", "no", "Traceback"},
          ScriptDone{Ending::signalled, true, {}, 11, true, true, {0.5, 0.25, 123, 456}},
          ScriptDone{Ending::exited, false, -3, {}, false, false, {}},
          ResetDone{false, "busy"},
          Pong{},
          FileWritten{"a/ä \"b\"\n", ""},
          FileWritten{"a", "cannot write a: it is a symbolic link"}};
}

}  // namespace

TEST_CASE("H2: every message survives the way through its line") {
  for (const Request& request :
       {Request(a_run()), Request(RunRequest{.execution_id = "x", .script = ""}),
        Request(CancelRequest{"e1"}), Request(ResetRequest{}), Request(PingRequest{}),
        Request(a_file()), Request(WriteFileRequest{.path = "empty", .data = ""})})
    CHECK(decode_request(without_newline(encode(request))) == request);
  for (const EventBody& body : bodies_of_every_type())
    for (const std::string id : {"", "e\"1"}) {
      const Event event{id, body};
      CHECK(decode_event(without_newline(encode(event))) == event);
    }
}

TEST_CASE("H4: a run request carries script, execution id, timeout and mode") {
  const std::string line = encode(Request(a_run()));
  for (const char* part : {R"("execution_id":"e1")", R"("timeout":0.25)", R"("mode":"interactive")",
                           R"("script":"print('ä')\n\"\\\u0001)"})
    CHECK(line.find(part) != std::string::npos);
}

TEST_CASE("a request that is not exactly one is refused") {
  const auto run_with = [](const std::string& key, const std::string& value) {
    std::string line = R"({"type":"run")";
    for (const auto& [name, usual] :
         std::vector<std::pair<std::string, std::string>>{{"execution_id", "\"e\""},
                                                          {"script", "\"\""},
                                                          {"timeout", "1"},
                                                          {"mode", "\"plan\""},
                                                          {"env", "{}"},
                                                          {"secrets", "[]"},
                                                          {"max_output_bytes", "1"}}) {
      const std::string& given = name == key ? value : usual;
      if (!given.empty()) line += ",\"" + name + "\":" + given;
    }
    return line + "}";
  };
  CHECK_NOTHROW(decode_request(run_with("", "")));
  CHECK_NOTHROW(decode_request(run_with("timeout", "31536000")));
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"execution_id", ""},
           {"script", ""},
           {"timeout", ""},
           {"mode", ""},
           {"env", ""},
           {"secrets", ""},
           {"max_output_bytes", ""},
           {"execution_id", "\"\""},
           {"execution_id", "7"},
           {"execution_id", "\"" + std::string(129, 'x') + "\""},
           {"script", "null"},
           {"timeout", "0"},
           {"timeout", "-1"},
           {"timeout", "1e300"},
           {"timeout", "31536001"},
           {"timeout", "\"1\""},
           {"mode", "\"PLAN\""},
           {"mode", "0"},
           {"env", "[]"},
           {"env", R"({"A":1})"},
           {"env", R"({"":"x"})"},
           {"env", R"({"A=B":"x"})"},
           {"env", R"({"A":"\u0000"})"},
           {"env", R"({"A":"1","A":"2"})"},
           {"secrets", "{}"},
           {"secrets", "[1]"},
           {"max_output_bytes", "-1"},
           {"max_output_bytes", "1.5"},
           {"max_output_bytes", "18446744073709551616"}}) {
    CAPTURE(key);
    CAPTURE(value);
    CHECK_THROWS_AS(decode_request(run_with(key, value)), ProtocolError);
  }
  CHECK_THROWS_AS(decode_request(R"({"type":"run"})"), ProtocolError);
  CHECK_THROWS_AS(decode_request(R"({"type":"walk"})"), ProtocolError);
  CHECK_THROWS_AS(decode_request(R"({"type":"reset","now":true})"), ProtocolError);
  CHECK_THROWS_AS(decode_request(R"({"kind":"reset"})"), ProtocolError);
  CHECK_THROWS_AS(decode_request(R"({"type":7})"), ProtocolError);
}

TEST_CASE("a file's bytes travel as base64") {
  CHECK(encode(Request(WriteFileRequest{.path = "a/b", .data = "\n\xff", .mode = 0600})) ==
        "{\"type\":\"write_file\",\"path\":\"a/b\",\"data\":\"Cv8=\",\"mode\":384,"
        "\"append\":false}\n");
}

TEST_CASE("a request for a file that is not exactly one is refused") {
  const auto file_with = [](const std::string& key, const std::string& value) {
    std::string line = R"({"type":"write_file")";
    for (const auto& [name, usual] : std::vector<std::pair<std::string, std::string>>{
             {"path", "\"a\""}, {"data", "\"Zg==\""}, {"mode", "420"}, {"append", "false"}}) {
      const std::string& given = name == key ? value : usual;
      if (!given.empty()) line += ",\"" + name + "\":" + given;
    }
    return line + "}";
  };
  const std::string longest_path(4096, 'x');
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"path", R"("a/b/c")"},
                                                        {"path", R"("..a/b../...")"},
                                                        {"path", R"(" ")"},
                                                        {"path", "\"" + longest_path + "\""},
                                                        {"data", R"("")"},
                                                        {"mode", "0"},
                                                        {"mode", "4294967295"},
                                                        {"append", "true"}}) {
    CAPTURE(value);
    CHECK_NOTHROW(decode_request(file_with(key, value)));
  }
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"path", ""},
                                                        {"data", ""},
                                                        {"mode", ""},
                                                        {"append", ""},
                                                        {"path", "7"},
                                                        {"path", R"("")"},
                                                        {"path", R"("/a")"},
                                                        {"path", R"("/")"},
                                                        {"path", R"("a/")"},
                                                        {"path", R"("a//b")"},
                                                        {"path", R"(".")"},
                                                        {"path", R"("..")"},
                                                        {"path", R"("./a")"},
                                                        {"path", R"("a/.")"},
                                                        {"path", R"("../a")"},
                                                        {"path", R"("a/../b")"},
                                                        {"path", R"("a/./b")"},
                                                        {"path", R"("a/..")"},
                                                        {"path", R"("a\u0000")"},
                                                        {"path", R"("a\u0000/b")"},
                                                        {"path", R"("a\ud800")"},
                                                        {"path", "\"" + longest_path + "x\""},
                                                        {"path", "\"a\xff\""},
                                                        {"data", "null"},
                                                        {"data", R"("Zg")"},
                                                        {"data", R"("Zg==\n")"},
                                                        {"data", R"("Zh==")"},
                                                        {"data", R"("Z g=")"},
                                                        {"data", R"("Zg==Zg==")"},
                                                        {"mode", "-1"},
                                                        {"mode", "1.5"},
                                                        {"mode", "4294967296"},
                                                        {"mode", "18446744073709551616"},
                                                        {"mode", R"("420")"},
                                                        {"append", "0"},
                                                        {"append", R"("false")"}}) {
    CAPTURE(key);
    CAPTURE(value);
    CHECK_THROWS_AS(decode_request(file_with(key, value)), ProtocolError);
  }
  CHECK_THROWS_AS(decode_request(R"({"type":"ping","execution_id":"e"})"), ProtocolError);
}

TEST_CASE("a path of a workspace is one that a line can carry and a directory can hold") {
  for (const std::string& path : {std::string("a\xff"), std::string("\xc3"), std::string("/etc"),
                                  std::string("a\0b", 3), std::string("a/../b")}) {
    CAPTURE(path);
    CHECK_FALSE(problem_of_workspace_path(path).empty());
  }
  CHECK(problem_of_workspace_path("ä/😀/b c") == "");
}

TEST_CASE("H26: an event of an unknown type or shape is refused") {
  for (
      const char* line :
      {R"({"type":"surprise"})", R"({"type":"stdout"})", R"({"type":"stdout","text":1})",
       R"({"type":"stdout","text":"x","more":1})", R"({"type":"log","level":"loud","message":""})",
       R"({"type":"display","data":"x"})", R"({"type":"display","data":{},"value":1})",
       R"({"type":"final_result"})",
       R"({"type":"script_done","ending":"unknown","started":true,"state_lost":false,"out_of_memory":false,"wall_seconds":0,"cpu_seconds":0,"peak_memory_bytes":0,"output_bytes":0})",
       R"({"type":"script_done","ending":"exited","started":1,"state_lost":false,"out_of_memory":false,"wall_seconds":0,"cpu_seconds":0,"peak_memory_bytes":0,"output_bytes":0})",
       R"({"type":"script_done","ending":"exited","started":true,"state_lost":false,"out_of_memory":false,"wall_seconds":1e400,"cpu_seconds":0,"peak_memory_bytes":0,"output_bytes":0})",
       R"({"type":"stdout","execution_id":5,"text":"x"})", R"({"type":"pong","late":true})",
       R"({"type":"file_written","path":"a"})", R"({"type":"file_written","error":""})",
       R"({"type":"file_written","path":"a","error":null})"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(decode_event(line), ProtocolError);
  }
}

TEST_CASE("a hundred thousand names in an environment are decoded in one go") {
  std::string env = "{";
  for (int i = 0; i < 100'000; ++i) env += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":\"\"";
  const Request request = decode_request(
      R"({"type":"run","execution_id":"e","script":"","timeout":1,"mode":"plan","secrets":[],"max_output_bytes":1,"env":)" +
      env + "}}");
  CHECK(std::get<RunRequest>(request).env.size() == 100'000);
}
