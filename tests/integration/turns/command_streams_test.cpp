// Standard input and output of commands as data streams: what arrives, and what waits for what.
#include "tests/support/clean_turn.h"
#include "tests/support/running_command.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

#include <signal.h>

#include <string>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

wire::ExecRequest on_terminal(std::string line) {
  wire::ExecRequest request = shell_line(std::move(line));
  request.terminal = wire::TerminalSize{80, 24};
  return request;
}

wire::ExecRequest unlimited(std::string line, double timeout_seconds = 20) {
  wire::ExecRequest request = shell_line(std::move(line), timeout_seconds);
  request.max_output_bytes = 1ULL << 40;
  return request;
}

// Bytes of all kinds, more than several windows.
std::string many_bytes() {
  std::string bytes;
  for (unsigned number = 0; bytes.size() < 3'000'000; ++number) {
    bytes += static_cast<char>(number * number >> 3);
    bytes += static_cast<char>(number);
  }
  return bytes;
}

}  // namespace

TEST_CASE("a command reads what it is given, to the end, and its output arrives byte by byte") {
  Sandbox sandbox;
  const std::string bytes = many_bytes();
  RunningCommand command(sandbox.loop(), sandbox.process(), unlimited("cat; echo end >&2; exit 3"),
                         {.input = bytes});
  const auto result = command.finished();
  CHECK(result.exit_code == 3);
  CHECK(result.pid == command.pid);
  CHECK((command.output == bytes));
  CHECK(command.errors == "end\n");
  CHECK(result.stdout_text.empty());
  CHECK(result.usage.output_bytes == bytes.size() + 4);
  check_clean_turn(sandbox);
}

TEST_CASE("input that is given at once goes with output that comes as events, too") {
  Sandbox sandbox;
  RunningCommand command(sandbox.loop(), sandbox.process(), shell_line("wc -c"),
                         {.input = std::string(1'000'000, 'x'), .reads_output = false});
  CHECK(command.finished().stdout_text == "1000000\n");
}

TEST_CASE("input that stays open is a conversation, until it is ended") {
  Sandbox sandbox;
  RunningCommand command(sandbox.loop(), sandbox.process(),
                         shell_line("while read line; do echo \"<$line>\"; done; echo bye"),
                         {.input = "first\n", .input_stays_open = true});
  command.wait_for_output("<first>\n");
  CHECK(command.write("second\n"));
  command.wait_for_output("<second>\n");
  CHECK_FALSE(command.is_done);
  command.end_input();
  CHECK_FALSE(command.write("third\n"));
  CHECK(command.finished().verdict == Verdict::ok);
  CHECK(command.output == "<first>\n<second>\nbye\n");
}

TEST_CASE("a command that never reads its input keeps nothing waiting, and init small") {
  Sandbox sandbox;
  sandbox.run("pass");
  const std::uint64_t before = sandbox.process().init_peak_memory_bytes();
  std::string input;
  input.resize(50'000'000, 'x');
  RunningCommand command(sandbox.loop(), sandbox.process(), shell_line("sleep 600", 0),
                         {.input = input});
  command.wait_for_start();
  CHECK(sandbox.run("print('beside it')").stdout_text == "beside it\n");
  CHECK(sandbox.process().init_peak_memory_bytes() < before + 8'000'000);
  run_task(sandbox.loop(), command.executor().cancel());
  CHECK(command.finished().verdict == Verdict::cancelled);
  check_clean_turn(sandbox);
}

TEST_CASE("a command that closes its input or ends takes no more, and its writer is told") {
  Sandbox sandbox;
  RunningCommand deaf(sandbox.loop(), sandbox.process(),
                      shell_line("exec < /dev/null; echo closed; sleep 600", 0),
                      {.input_stays_open = true});
  deaf.wait_for_output("closed\n");
  CHECK_FALSE(deaf.write(std::string(5'000'000, 'x')));
  CHECK_FALSE(deaf.is_over());
  run_task(sandbox.loop(), deaf.executor().cancel());
  CHECK(deaf.finished().verdict == Verdict::cancelled);

  RunningCommand brief(sandbox.loop(), sandbox.process(), shell_line("head -c 3"),
                       {.input = std::string(5'000'000, 'x')});
  CHECK(brief.finished().verdict == Verdict::ok);
  CHECK(brief.output == "xxx");
  check_clean_turn(sandbox);
}

TEST_CASE("on a terminal the end of the input is what Ctrl-D is, inside a line as well") {
  Sandbox sandbox;
  for (const std::string input : {"one\ntwo\n", "one\ntwo"}) {
    CAPTURE(input);
    RunningCommand command(sandbox.loop(), sandbox.process(),
                           on_terminal("stty -echo; read line; echo \"<$line>\"; cat; echo end"),
                           {.input_stays_open = true});
    command.wait_for_start();
    CHECK(command.write(input));
    command.end_input();
    CHECK(command.finished().verdict == Verdict::ok);
    CHECK(command.output.find("<one>\r\n") != std::string::npos);
    CHECK(command.output.find("two") != std::string::npos);
    CHECK(command.output.ends_with("end\r\n"));
    CHECK(command.errors.empty());
  }
}

TEST_CASE("signals and a new size reach a command that runs") {
  Sandbox sandbox;
  RunningCommand command(sandbox.loop(), sandbox.process(),
                         on_terminal("trap 'echo int' INT; trap 'stty size; exit 7' WINCH; echo on;"
                                     " while :; do sleep 0.05; done"));
  SandboxChannel& channel = sandbox.process().channel();
  command.wait_for_output("on\r\n");
  channel.post(wire::SignalRequest{command.id, "INT", false});
  command.wait_for_output("int\r\n");
  channel.post(wire::ResizeRequest{command.id, {132, 50}});
  CHECK(command.finished().exit_code == 7);
  CHECK(command.output.ends_with("50 132\r\n"));

  RunningCommand tree(sandbox.loop(), sandbox.process(),
                      shell_line("setsid sleep 600 & trap '' TERM; echo on; wait; echo left"));
  tree.wait_for_output("on\n");
  channel.post(wire::SignalRequest{tree.id, "TERM", true});
  const auto ended = tree.finished();
  INFO(ended.detail, ended.error ? ended.error->message : "no error");
  CHECK(ended.verdict == Verdict::ok);
  CHECK(tree.output == "on\nleft\n");
}

TEST_CASE("a slow reader makes the command wait, and nothing else") {
  Sandbox sandbox;
  sandbox.run("pass");
  const std::uint64_t before = sandbox.process().init_peak_memory_bytes();
  RunningCommand command(sandbox.loop(), sandbox.process(),
                         unlimited("head -c 50000000 /dev/zero; touch done", 600),
                         {.holds_output = true});
  command.wait_for_start();
  // Time in which a command that does not wait would be done.
  CHECK(sandbox
            .run("import os, time\n"
                 "for i in range(100):\n"
                 "    time.sleep(0.01)\n"
                 "    if os.path.exists('done'): print('done')\n")
            .stdout_text.empty());
  CHECK(sandbox.process().init_peak_memory_bytes() < before + 8'000'000);
  command.release();
  CHECK(command.finished().verdict == Verdict::ok);
  CHECK(command.output.size() == 50'000'000);
  check_clean_turn(sandbox);
}

TEST_CASE("output that its reader does not take in time is not waited for beyond the deadline") {
  Sandbox sandbox;
  // Less than a pipe holds beyond the window, and so the program comes to its end at once.
  for (const char* line : {"head -c 560000 /dev/zero", "head -c 5000000 /dev/zero"}) {
    CAPTURE(line);
    RunningCommand command(sandbox.loop(), sandbox.process(), unlimited(line, 0.3),
                           {.holds_output = true});
    command.run_until([&] { return command.is_done; });
    command.release();
    const auto result = command.finished();
    CHECK(result.verdict == Verdict::timeout);
    CHECK(result.sandbox_usable);
    CHECK(command.output.size() >= wire::first_window_bytes);
  }
  check_clean_turn(sandbox);
}

TEST_CASE("a command whose output is not read any more finds it closed") {
  Sandbox sandbox;
  RunningCommand command(sandbox.loop(), sandbox.process(), unlimited("yes"));
  command.fail_to_read();
  const auto result = command.finished();
  CHECK(result.verdict == Verdict::crashed);
  CHECK(result.signal == SIGPIPE);
  check_clean_turn(sandbox);
}

TEST_CASE("output on streams has its limit, too") {
  Sandbox sandbox;
  wire::ExecRequest request = shell_line("echo first; yes");
  request.max_output_bytes = 100'000;
  RunningCommand command(sandbox.loop(), sandbox.process(), request);
  CHECK(command.finished().verdict == Verdict::output_limit);
  CHECK(command.output.starts_with("first\ny\n"));
  CHECK(command.output.size() == 100'000);
}

TEST_CASE("a command that cannot be started ends its streams") {
  Sandbox sandbox;
  wire::ExecRequest request;
  request.argv = {"no-such-program"};
  RunningCommand command(sandbox.loop(), sandbox.process(), request,
                         {.input = std::string(5'000'000, 'x')});
  const auto result = command.finished();
  CHECK(result.exit_code == 127);
  CHECK(command.output.empty());
  check_clean_turn(sandbox);
}

TEST_CASE("a reset ends commands with open streams, and their writers and readers are told") {
  Sandbox sandbox;
  RunningCommand command(sandbox.loop(), sandbox.process(), shell_line("sleep 600", 0),
                         {.input = std::string(5'000'000, 'x')});
  command.wait_for_start();
  CHECK(sandbox.reset().clean);
  CHECK(command.finished().verdict == Verdict::cancelled);
  check_clean_turn(sandbox);
}
