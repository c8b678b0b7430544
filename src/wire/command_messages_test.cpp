#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/protocol_error.h"

#include <doctest/doctest.h>

#include <string>

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
        Request(ResizeRequest{"c", {100, 30}})}) {
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
