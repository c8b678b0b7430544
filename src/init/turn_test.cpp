// How a turn ends, from its facts: no process needed.
#include "init/turn.h"

#include "os/unique_fd.h"
#include "wire/decode.h"

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <csignal>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace hearth;
using namespace hearth::init;
using namespace std::chrono_literals;
using wire::Ending;

namespace {

constexpr int exited_0 = 0;
constexpr int exited_3 = 3 << 8;
constexpr int killed = SIGKILL;

struct Fixture {
  os::UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  HostLink host{null.get(), null.get()};
  Turn turn;
  Clock::time_point begin = Clock::now();

  explicit Fixture(double timeout = 10, std::uint64_t max_output = 1000,
                   wire::Mode mode = wire::Mode::plan)
      : turn({.execution_id = "e",
              .script = "",
              .timeout_seconds = timeout,
              .mode = mode,
              .max_output_bytes = max_output},
             host) {
    turn.start(begin, 0, 3);
  }
  void say(const std::string& json) { turn.on_record(turn.mark() + ' ' + json); }
  void claim(const std::string& outcome) { say(R"({"type":"end","outcome":")" + outcome + "\"}"); }
  void ended(int status) { turn.process_ended(status, rusage{}); }

  std::vector<wire::Event> events() {
    std::vector<wire::Event> all;
    wire::LineReader lines(1 << 20);
    lines.append(host.outgoing());
    while (const auto line = lines.next()) all.push_back(wire::decode_event(line->text));
    return all;
  }
  wire::ScriptDone conclude(std::uint64_t memory_kills_now = 3) {
    turn.conclude(Clock::now(), false, 0, memory_kills_now);
    const auto all = events();
    REQUIRE_FALSE(all.empty());
    CHECK(all.back().execution_id == "e");
    return std::get<wire::ScriptDone>(all.back().body);
  }
  std::string error_name() {
    for (const auto& event : events())
      if (const auto* error = std::get_if<wire::ScriptError>(&event.body)) return error->name;
    return "";
  }
};

}  // namespace

TEST_CASE("H20: script_done says how the process ended and what it claimed") {
  SUBCASE("completed") {
    Fixture f;
    f.claim("completed");
    f.ended(exited_0);
    const auto done = f.conclude();
    CHECK(done.ending == Ending::completed);
    CHECK(done.exit_code == 0);
    CHECK_FALSE(done.called_exit);
    CHECK(f.error_name().empty());
  }
  SUBCASE("failed") {
    Fixture f;
    f.claim("failed");
    f.ended(exited_0);
    const auto done = f.conclude();
    CHECK(done.ending == Ending::failed);
    CHECK(done.exit_code == 1);
    CHECK_FALSE(done.called_exit);
  }
  SUBCASE("no claim and an exit") {
    Fixture f;
    f.ended(exited_3);
    const auto done = f.conclude();
    CHECK(done.ending == Ending::exited);
    CHECK(done.exit_code == 3);
    CHECK(f.error_name() == "ProcessExited");
  }
  SUBCASE("a claim and then another exit code: the harness always leaves with 0") {
    Fixture f;
    f.claim("completed");
    f.ended(exited_3);
    CHECK(f.conclude().ending == Ending::exited);
  }
  SUBCASE("a signal") {
    Fixture f;
    f.ended(SIGSEGV);
    const auto done = f.conclude();
    CHECK(done.ending == Ending::signalled);
    CHECK(done.signal == SIGSEGV);
    CHECK(f.error_name() == "ProcessKilled");
  }
}

TEST_CASE("H18: the exit code is that of sys.exit") {
  Fixture f;
  SUBCASE("0") {
    f.say(R"({"type":"end","outcome":"completed","exit_code":0})");
    f.ended(exited_0);
    const auto done = f.conclude();
    CHECK(done.exit_code == 0);
    CHECK(done.called_exit);
  }
  SUBCASE("another one") {
    f.say(R"({"type":"end","outcome":"failed","exit_code":255})");
    f.ended(exited_0);
    const auto done = f.conclude();
    CHECK(done.ending == Ending::failed);
    CHECK(done.exit_code == 255);
    CHECK(done.called_exit);
  }
  SUBCASE("a script that claims to have failed with 0 has failed") {
    f.say(R"({"type":"end","outcome":"failed","exit_code":0})");
    f.ended(exited_0);
    CHECK(f.conclude().exit_code == 1);
  }
  SUBCASE("one that no process can have is no claim") {
    for (const char* code : {"256", "-1", "9223372036854775807", "1.5", "\"0\""})
      f.say(R"({"type":"end","outcome":"completed","exit_code":)" + std::string(code) + "}");
    f.ended(exited_3);
    const auto done = f.conclude();
    CHECK(done.ending == Ending::exited);
    CHECK(done.exit_code == 3);
    CHECK_FALSE(done.called_exit);
  }
  SUBCASE("a process that was killed has none, whatever it had claimed") {
    f.say(R"({"type":"end","outcome":"completed","exit_code":0})");
    f.ended(killed);
    const auto done = f.conclude();
    CHECK(done.ending == Ending::signalled);
    CHECK_FALSE(done.exit_code);
    CHECK_FALSE(done.called_exit);
  }
}

TEST_CASE("H16: a script killed at its deadline timed out, whatever it had claimed") {
  Fixture f;
  f.claim("completed");
  f.turn.out_of_time();
  f.ended(killed);
  const auto done = f.conclude();
  CHECK(done.ending == Ending::timed_out);
  CHECK_FALSE(done.exit_code);
  CHECK(f.error_name() == "ScriptTimeout");
}

TEST_CASE("H16: when it is over, its end counts and not when its claim was read") {
  SUBCASE("a claim in time of a process that went on after the deadline") {
    Fixture f(0.02);
    f.claim("completed");
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    f.ended(exited_0);
    CHECK(f.conclude().ending == Ending::timed_out);
  }
  SUBCASE("a process that ended in time, whose claim waited in the pipe") {
    Fixture f(1);
    f.ended(exited_0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1050));
    f.claim("completed");
    const auto done = f.conclude();
    CHECK(done.ending == Ending::completed);
    CHECK(done.usage.wall_seconds < 1);
  }
}

TEST_CASE("H15: a claim after the deadline is a time-out and one before it is not") {
  SUBCASE("after") {
    Fixture f(1e-9);
    f.claim("completed");
    f.ended(exited_0);
    CHECK(f.conclude().ending == Ending::timed_out);
  }
  SUBCASE("before: a script cannot claim to have timed out") {
    Fixture f;
    f.claim("timeout");
    f.ended(exited_0);
    CHECK(f.conclude().ending == Ending::failed);
  }
}

TEST_CASE("a script that finished in the moment of its cancellation is finished") {
  SUBCASE("finished") {
    Fixture f;
    f.turn.cancel(Clock::now());
    f.claim("completed");
    f.turn.out_of_time();
    f.ended(exited_0);
    CHECK(f.conclude().ending == Ending::completed);
  }
  SUBCASE("interrupted") {
    Fixture f;
    f.turn.cancel(Clock::now());
    f.claim("cancelled");
    f.ended(exited_0);
    CHECK(f.conclude().ending == Ending::cancelled);
  }
  SUBCASE("killed") {
    Fixture f;
    f.turn.cancel(Clock::now());
    f.turn.out_of_time();
    f.ended(killed);
    CHECK(f.conclude().ending == Ending::cancelled);
  }
  SUBCASE("interrupted by itself, not by the host") {
    Fixture f;
    f.claim("cancelled");
    f.ended(exited_0);
    CHECK(f.conclude().ending == Ending::failed);
  }
}

TEST_CASE("C8: output over the limit is cut right before it and ends the turn") {
  Fixture f(10, 500);
  f.turn.on_text(Stream::out, std::string(2000, 'x'));
  CHECK(f.turn.must_die());
  f.say(R"({"type":"log","level":"info","message":"too late"})");
  f.claim("completed");
  f.ended(exited_0);
  const auto done = f.conclude();
  CHECK(done.ending == Ending::output_limit);
  CHECK(done.usage.output_bytes > 250);
  CHECK(done.usage.output_bytes <= 500);
  CHECK(f.events().size() == 3);  // the cut text, the error, the end
  CHECK(f.error_name() == "OutputLimit");
}

TEST_CASE("H23: records that are no event of a script are dropped and counted") {
  Fixture f;
  for (const char* forged :
       {R"({"type":"script_done"})", R"({"type":"ready","python":"","harness":""})",
        R"({"type":"stdout","text":"x"})", R"({"type":"reset_done","clean":true,"message":""})",
        "{}", "garbage", R"({"type":"log","level":"info","message":"x","execution_id":"other"})"})
    f.say(forged);
  f.claim("completed");
  f.ended(exited_0);
  CHECK(f.conclude().ending == Ending::completed);
  const auto events = f.events();
  REQUIRE(events.size() == 2);
  CHECK(std::get<wire::Log>(events[0].body).message ==
        "7 malformed records of the script were dropped");
}

TEST_CASE("a record counts only with the mark of its turn") {
  Fixture f(10, 1000, wire::Mode::interactive);
  const std::string end = R"({"type":"end","outcome":"completed"})";
  const std::string other(f.turn.mark().size(), '0');
  for (const std::string& record :
       {end, ' ' + end, other + ' ' + end, f.turn.mark() + end, f.turn.mark(), std::string()})
    f.turn.on_record(record);
  CHECK_FALSE(f.turn.claimed_end());
  f.claim("completed");
  CHECK(f.turn.claimed_end());
  f.conclude();
  CHECK(std::get<wire::Log>(f.events()[0].body).message ==
        "6 malformed records of the script were dropped");
}

TEST_CASE("a turn that starts anew has another mark and the same deadline") {
  Fixture f;
  const std::string first = f.turn.mark();
  const Clock::time_point kill_at = f.turn.kill_at();
  f.turn.withdraw();
  CHECK_FALSE(f.turn.started());
  f.turn.start(f.begin + 5s, 0, 3);
  CHECK(f.turn.mark() != first);
  CHECK(f.turn.kill_at() == kill_at);
}

TEST_CASE("only the first result of a turn is passed on") {
  Fixture f;
  for (const char* data : {"1", "2", "3"})
    f.say(std::string(R"({"type":"final_result","data":)") + data + "}");
  f.claim("completed");
  f.ended(exited_0);
  f.conclude();
  const auto events = f.events();
  REQUIRE(events.size() == 3);
  CHECK(std::get<wire::FinalResult>(events[0].body).data == wire::JsonText{"1"});
  CHECK(std::get<wire::Log>(events[1].body).message ==
        "2 malformed records of the script were dropped");
}

TEST_CASE("a turn is out of memory if the kernel killed for it while it ran") {
  SUBCASE("before it, and not since") {
    Fixture f;
    CHECK_FALSE(f.conclude(3).out_of_memory);
  }
  SUBCASE("since") {
    Fixture f;
    CHECK(f.conclude(4).out_of_memory);
  }
}
