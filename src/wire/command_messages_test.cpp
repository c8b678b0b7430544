#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/protocol_error.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using namespace hearth::wire;

namespace {

std::string with_members(const std::string& members) {
  return R"({"type":"exec","execution_id":"c","env":{},"secrets":[],"timeout":1,)"
         R"("max_output_bytes":1,)" +
         members + "}";
}

}  // namespace

TEST_CASE("H2: the requests for commands survive the way through their lines") {
  const ExecRequest program{.execution_id = "c",
                            .argv = {"ls", "", "a\n\"b\""},
                            .directory = "/tmp/ä",
                            .env = {{"A", "1"}},
                            .secrets = {"KEY"},
                            .timeout_seconds = 0,
                            .terminal = TerminalSize{1, 65535},
                            .input = 7,
                            .output = 8};
  const ExecRequest line{
      .execution_id = "c", .argv = {"a"}, .shell = "echo $1", .output = 0, .errors = 1};
  const ExecRequest script{.execution_id = "c", .language = "bash", .script = ""};
  for (const Request& request :
       {Request(program), Request(line), Request(script), Request(SignalRequest{"c", "INT", true}),
        Request(ResizeRequest{"c", {100, 30}}),
        Request(ExecRequest{.execution_id = "c", .argv = {"ls"}, .background = true}),
        Request(ListCommands{7}), Request(AttachCommand{7, "c", 1ULL << 40})}) {
    std::string text = encode(request);
    text.pop_back();
    CHECK(decode_request(text) == request);
  }
}

TEST_CASE("a request for a command names one thing to run, as no program can be given another") {
  CHECK_NOTHROW(decode_request(with_members(R"("argv":["ls"])")));
  CHECK_NOTHROW(decode_request(with_members(R"("argv":[],"shell":"ls")")));
  CHECK_NOTHROW(decode_request(with_members(R"("argv":[],"language":"bash","script":"")")));
  for (const char* members : {R"("argv":[])",
                              R"("argv":[""])",
                              R"("argv":[1])",
                              R"("argv":["a\u0000b"])",
                              R"("argv":[],"shell":"")",
                              R"("argv":[],"shell":"a\u0000")",
                              R"("argv":[],"language":"bash")",
                              R"("argv":["x"],"script":"")",
                              R"("argv":[],"shell":"ls","language":"bash","script":"")",
                              R"("argv":["ls"],"columns":80)",
                              R"("argv":["ls"],"columns":0,"rows":1)",
                              R"("argv":["ls"],"columns":80,"rows":65536)",
                              R"("argv":["ls"],"background":true,"stdout":1,"stderr":2)",
                              R"("argv":["ls"],"stdout":1)",
                              R"("argv":["ls"],"stderr":1)",
                              R"("argv":["ls"],"stdout":1,"stderr":1)",
                              R"("argv":["ls"],"stdin":2,"stdout":1,"stderr":2)",
                              R"("argv":["ls"],"columns":80,"rows":2,"stdout":1,"stderr":2)",
                              R"("argv":["ls"],"stdin":-1)",
                              R"("argv":["ls"],"directory":"\u0000")",
                              R"("argv":["ls"],"unknown":1)"}) {
    CAPTURE(members);
    CHECK_THROWS_AS(decode_request(with_members(members)), ProtocolError);
  }
  CHECK_THROWS_AS(decode_request(R"({"type":"resize","execution_id":"c"})"), ProtocolError);
}

TEST_CASE(
    "the answers about commands survive the way through their lines, and odd ones are refused") {
  const CommandInfo running{"a", 12, false, 3};
  const CommandInfo exited{"b", 13, true, 1ULL << 40, Ending::failed, 3};
  const CommandInfo killed{"c", 14, true, 0, Ending::signalled, std::nullopt, 9};
  for (const EventBody& body :
       {EventBody(CommandList{7, {running, exited, killed}}), EventBody(CommandList{7, {}}),
        EventBody(Position{7, 1ULL << 40}), EventBody(End{7})}) {
    std::string text = encode(Event{{}, body});
    text.pop_back();
    CHECK(decode_event(text).body == body);
  }
  for (const char* commands :
       {R"(["{}"])", R"([{}])", R"({})", R"([1])",
        R"([{"execution_id":"","pid":1,"background":true,"output_bytes":0}])",
        R"([{"execution_id":"a","pid":1,"background":true,"output_bytes":0,"ending":"other"}])",
        R"([{"execution_id":"a","pid":1,"background":true,"output_bytes":0,"more":1}])"}) {
    CAPTURE(commands);
    CHECK_THROWS_AS(
        decode_event(R"({"type":"commands","stream":1,"commands":)" + std::string(commands) + "}"),
        ProtocolError);
  }
  std::string many = encode(Event{{}, CommandList{7, std::vector(65, running)}});
  many.pop_back();
  CHECK_THROWS_AS(decode_event(many), ProtocolError);
}
