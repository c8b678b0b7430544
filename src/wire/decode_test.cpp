#include "wire/decode.h"

#include "wire/encode.h"
#include "wire/file_path.h"
#include "wire/protocol_error.h"

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
  return {
      .execution_id = "e1",
      .script = "print('ä')\n\"\\\x01\x7f",
      .timeout_seconds = 0.25,
      .mode = Mode::interactive,
      .env = {{"A", "1\n2"}, {"B", ""}},
      .secrets = {"KEY", "OTHER"},
      .max_output_bytes = 18446744073709551615ULL,
      .output = OutputMode::truncate,
      .sys_exit = SysExit::error,
      .limits = {.memory_mb = 256, .pids_limit = 64, .scratch_size_mb = 18446744073709551615ULL},
      .network = true,
      .name = "a \"b\".py"};
}

std::vector<FileCall> calls_of_every_type() {
  return {ReadFile{"a/ä \"b\"\n", 3, 18446744073709551615ULL},
          ReadFile{"/tmp/\xff"},
          WriteFile{"."},
          WriteFile{"\xc3", 0777},
          StatFile{"a"},
          ListFiles{"a", 4294967295, "*.\xff", 1, "Zg=="},
          ListFiles{"."},
          MakeDirectory{"a"},
          MoveFile{"a", "\xff"},
          SetMode{"a", 0},
          RemoveFile{"a", true},
          RemoveFile{"a"},
          ReadTree{"\xff", 18446744073709551615ULL, 1},
          WriteTree{"a"}};
}

std::vector<FileAnswerBody> answers_of_every_type() {
  return {
      FileEntry{"a/\xff", FileKind::file, 18446744073709551615ULL, 04755, -1},
      FileEntry{"d", FileKind::directory, 0, 0700, 1},
      FileEntry{"l", FileKind::symlink, 3, 0777, 1, "\xfe\xff"},
      FileEntry{"l", FileKind::symlink, 0, 0777, 1, ""},
      FileEntry{"p", FileKind::other, 0, 0600, 1},
      FileEntries{{FileEntry{"a/\xff"}, FileEntry{"l", FileKind::symlink, 0, 0, 0, "t"}}, "Zg=="},
      FileEntries{},
      FileDone{},
      FileFailed{FileProblem::no_space, "cannot write \"a\""}};
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
          ScriptDone{Ending::signalled, true, {}, 11, false, true, true, {0.5, 0.25, 123, 456}, {}},
          ScriptDone{Ending::exited, false, -3, {}, false, false, false, {}, {}},
          ScriptDone{Ending::failed, true, 3, {}, true, false, false, {}, Truncated{1, 2, 3, 4}},
          ResetDone{false, "busy"},
          Pong{},
          Window{4294967295, 1}};
}

}  // namespace

TEST_CASE("H2: every message survives the way through its line") {
  for (const Request& request :
       {Request(a_run()), Request(RunRequest{.execution_id = "x", .script = ""}),
        Request(CancelRequest{"e1"}), Request(ResetRequest{}), Request(PingRequest{}),
        Request(Window{1, 18446744073709551615ULL}), Request(End{4294967295}), Request(Abandon{0})})
    CHECK(decode_request(without_newline(encode(request))) == request);
  for (const EventBody& body : bodies_of_every_type())
    for (const std::string id : {"", "e\"1"}) {
      const Event event{id, body};
      CHECK(decode_event(without_newline(encode(event))) == event);
    }
  for (const FileCall& call : calls_of_every_type()) {
    const Request request = FileRequest{7, call};
    CHECK(decode_request(without_newline(encode(request))) == request);
  }
  for (const FileAnswerBody& answer : answers_of_every_type()) {
    const Event event{{}, FileAnswer{7, answer}};
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
  const std::string limits = R"({"memory_mb":1,"pids_limit":2,"scratch_size_mb":3})";
  const auto run_with = [&limits](const std::string& key, const std::string& value) {
    std::string line = R"({"type":"run")";
    for (const auto& [name, usual] :
         std::vector<std::pair<std::string, std::string>>{{"execution_id", "\"e\""},
                                                          {"script", "\"\""},
                                                          {"timeout", "1"},
                                                          {"mode", "\"plan\""},
                                                          {"env", "{}"},
                                                          {"secrets", "[]"},
                                                          {"max_output_bytes", "1"},
                                                          {"output", "\"fail\""},
                                                          {"sys_exit", "\"python\""},
                                                          {"limits", limits},
                                                          {"network", "false"},
                                                          {"name", "\"a.py\""}}) {
      const std::string& given = name == key ? value : usual;
      if (!given.empty()) line += ",\"" + name + "\":" + given;
    }
    return line + "}";
  };
  CHECK_NOTHROW(decode_request(run_with("", "")));
  CHECK_NOTHROW(decode_request(run_with("timeout", "31536000")));
  CHECK_NOTHROW(decode_request(run_with("name", "")));
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"output", "\"cut\""},
           {"sys_exit", "\"\""},
           {"sys_exit", ""},
           {"limits", "[]"},
           {"limits", R"({"memory_mb":1,"pids_limit":2})"},
           {"limits", R"({"memory_mb":-1,"pids_limit":2,"scratch_size_mb":3})"},
           {"limits", R"({"memory_mb":1,"pids_limit":2,"scratch_size_mb":3,"more":4})"},
           {"network", "0"},
           {"name", "\"..\""},
           {"name", "\"a/b.py\""},
           {"name", "\"a\\nb.py\""},
           {"name", "\"" + std::string(256, 'a') + "\""},
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

TEST_CASE("a name that is not UTF-8 travels as base64, and every other as it is") {
  CHECK(encode(Request(FileRequest{1, WriteFile{"a/b"}})) ==
        "{\"type\":\"write_file\",\"stream\":1,\"path\":\"a/b\"}\n");
  CHECK(encode(Request(FileRequest{1, WriteFile{"\n\xff", 0600}})) ==
        "{\"type\":\"write_file\",\"stream\":1,\"path_base64\":\"Cv8=\",\"mode\":384}\n");
}

TEST_CASE("a request for a file that is not exactly one is refused") {
  const auto file_with = [](const std::string& key, const std::string& value) {
    std::string line = R"({"type":"write_file")";
    for (const auto& [name, usual] : std::vector<std::pair<std::string, std::string>>{
             {"stream", "7"}, {"path", "\"a\""}, {"path_base64", ""}, {"mode", "420"}}) {
      const std::string& given = name == key ? value : usual;
      if (!given.empty()) line += ",\"" + name + "\":" + given;
    }
    return line + "}";
  };
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"path", R"("/a/b")"},
                                                        {"mode", "0"},
                                                        {"mode", "511"},
                                                        {"mode", ""},
                                                        {"stream", "4294967295"}}) {
    CAPTURE(value);
    CHECK_NOTHROW(decode_request(file_with(key, value)));
  }
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"stream", ""},
           {"stream", "-1"},
           {"stream", "4294967296"},
           {"path", ""},
           {"path", "7"},
           {"path", R"("")"},
           {"path", R"("a/../b")"},
           {"path", R"("a\u0000")"},
           {"path", R"("a\ud800")"},
           {"path", "\"a\xff\""},
           {"path_base64", R"("/w==")"},  // beside a path
           {"mode", "-1"},
           {"mode", "1.5"},
           {"mode", "512"},
           {"mode", R"("420")"}}) {
    CAPTURE(key);
    CAPTURE(value);
    CHECK_THROWS_AS(decode_request(file_with(key, value)), ProtocolError);
  }
  for (const char* path : {R"("YQ==")", R"("/w=")", R"("/x==")", R"("/w==\n")", "null"}) {
    CAPTURE(path);
    CHECK_THROWS_AS(
        decode_request(std::string(R"({"type":"write_file","stream":7,"path_base64":)") + path +
                       "}"),
        ProtocolError);
  }
  CHECK_THROWS_AS(decode_request(R"({"type":"ping","execution_id":"e"})"), ProtocolError);
  CHECK_THROWS_AS(decode_request(R"({"type":"window","stream":7,"bytes":0})"), ProtocolError);
}

TEST_CASE("a path is relative or absolute, of proper components, and any bytes but NUL") {
  for (const std::string& path :
       {std::string("."), std::string("/"), std::string("/etc/passwd"), std::string("a\xff/\xc3"),
        std::string("..a/b../..."), std::string(" "), std::string(255, 'x')}) {
    CAPTURE(path);
    CHECK(problem_of_file_path(path) == "");
  }
  for (const std::string& path :
       {std::string(), std::string("a\0b", 3), std::string("a/../b"), std::string("a/./b"),
        std::string(".."), std::string("./a"), std::string("a/."), std::string("a//b"),
        std::string("a/"), std::string("//a"), std::string("/.."), std::string(256, 'x')}) {
    CAPTURE(path);
    CHECK_FALSE(problem_of_file_path(path).empty());
  }
  std::string longest;
  while (longest.size() < max_path_bytes) longest += "x/";
  longest.back() = 'x';
  CHECK(problem_of_file_path(longest) == "");
  CHECK_FALSE(problem_of_file_path(longest + "x").empty());
}

TEST_CASE("H26: an event of an unknown type or shape is refused") {
  for (
      const char* line :
      {R"({"type":"surprise"})", R"({"type":"stdout"})", R"({"type":"stdout","text":1})",
       R"({"type":"stdout","text":"x","more":1})", R"({"type":"log","level":"loud","message":""})",
       R"({"type":"display","data":"x"})", R"({"type":"display","data":{},"value":1})",
       R"({"type":"final_result"})",
       R"({"type":"script_done","ending":"unknown","started":true,"called_exit":false,"state_lost":false,"out_of_memory":false,"wall_seconds":0,"cpu_seconds":0,"peak_memory_bytes":0,"output_bytes":0})",
       R"({"type":"script_done","ending":"exited","started":1,"called_exit":false,"state_lost":false,"out_of_memory":false,"wall_seconds":0,"cpu_seconds":0,"peak_memory_bytes":0,"output_bytes":0})",
       R"({"type":"script_done","ending":"exited","started":true,"called_exit":false,"state_lost":false,"out_of_memory":false,"wall_seconds":1e400,"cpu_seconds":0,"peak_memory_bytes":0,"output_bytes":0})",
       R"({"type":"stdout","execution_id":5,"text":"x"})", R"({"type":"pong","late":true})",
       R"({"type":"file_done"})", R"({"type":"file_failed","stream":1,"error":"odd","message":""})",
       R"({"type":"file_entry","stream":1,"entry":{"type":"file","path":"a","size_bytes":1,"mode":1}})",
       R"({"type":"file_entry","stream":1,"entry":{"type":"socket","path":"a","size_bytes":1,"mode":1,"modified_ns":1}})",
       R"({"type":"file_entry","stream":1,"entry":{"type":"file","path":"a","size_bytes":1,"mode":1,"modified_ns":1,"target":"b"}})",
       R"({"type":"window","stream":1})"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(decode_event(line), ProtocolError);
  }
}

TEST_CASE("a hundred thousand names in an environment are decoded in one go") {
  std::string env = "{";
  for (int i = 0; i < 100'000; ++i) env += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":\"\"";
  const Request request = decode_request(
      R"({"type":"run","execution_id":"e","script":"","timeout":1,"mode":"plan","secrets":[],"max_output_bytes":1,"output":"fail","sys_exit":"python","limits":{"memory_mb":0,"pids_limit":0,"scratch_size_mb":0},"network":false,"env":)" +
      env + "}}");
  CHECK(std::get<RunRequest>(request).env.size() == 100'000);
}
