// Ends of a turn that a caller chooses, on a lease of a pool of scripted sandboxes.
#include "execution/turn.h"

#include "pool/pool_fixture.h"
#include "wire/encode.h"

#include <doctest/doctest.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

using namespace hearth;
using namespace hearth::execution;
using namespace std::chrono_literals;

namespace {

std::string done(wire::Ending ending) {
  wire::ScriptDone done;
  done.ending = ending;
  done.started = true;
  return wire::encode(wire::Event{"e", done});
}

// A lease whose sandbox answers a cancel, and a script only if it `completes`.
struct Leased : pool::PoolFixture {
  Leased() : PoolFixture(1) {
    startup();
    lease = checkout(pool::owned_by("ann"));
    id = lease->sandbox_id();
    sandbox().on_request = [this] {
      const std::string heard = std::exchange(sandbox().stream().heard, {});
      requests += heard;
      if (heard.starts_with(R"({"type":"cancel")"))
        sandbox().stream().say(done(wire::Ending::cancelled));
      else if (completes)
        sandbox().stream().say(done(wire::Ending::completed));
    };
  }
  // Shutting the pool down says more to it, when this fixture's own members are gone.
  ~Leased() {
    if (FakeSandbox* const left = backend.find(id); left != nullptr) left->on_request = {};
  }
  Leased(const Leased&) = delete;
  Leased& operator=(const Leased&) = delete;
  FakeSandbox& sandbox() { return *backend.find(id); }

  struct Outcome {
    std::optional<ExecutionResult> result;
    std::exception_ptr failure;
    asio::cancellation_signal cancel;
  };
  // Runs beside the test.
  std::shared_ptr<Outcome> begin(Task<ExecutionResult> task) {
    auto outcome = std::make_shared<Outcome>();
    asio::co_spawn(
        loop, std::move(task),
        asio::bind_cancellation_slot(outcome->cancel.slot(),
                                     [outcome](std::exception_ptr failure, ExecutionResult result) {
                                       outcome->failure = std::move(failure);
                                       if (!outcome->failure) outcome->result = std::move(result);
                                     }));
    settle();
    return outcome;
  }
  // True if the next lease of the same owner has the same sandbox.
  bool is_reused() {
    const std::string before = id;
    sandbox().on_request = [] {};
    lease.reset();
    settle();
    return checkout(pool::owned_by("ann")).sandbox_id() == before;
  }

  std::optional<pool::Lease> lease;
  std::string id;
  std::string requests;  // all that the sandbox was asked
  bool completes = false;
};

const TurnRequest request{.script = "pass", .execution_id = "e"};

}  // namespace

TEST_CASE("a turn that is not ended early comes to its end, and its sandbox is reused") {
  Leased leased;
  leased.completes = true;
  const ExecutionResult result = leased.run(run_turn(*leased.lease, request));
  CHECK(result.verdict == Verdict::ok);
  CHECK(leased.is_reused());
}

TEST_CASE("a turn that is cancelled or killed before its start never starts") {
  Leased leased;
  Turn turn(*leased.lease, request);
  SUBCASE("cancelled") { leased.run(turn.cancel()); }
  SUBCASE("killed") { turn.kill(); }
  const ExecutionResult result = leased.run(turn.finished());
  CHECK(result.verdict == Verdict::cancelled);
  CHECK_FALSE(result.started);
  CHECK(leased.requests.empty());
  CHECK_FALSE(leased.sandbox().was_killed);
  CHECK(leased.is_reused());
}

TEST_CASE("a turn that is cancelled while it runs ends as the sandbox says") {
  Leased leased;
  Turn turn(*leased.lease, request);
  const auto outcome = leased.begin(turn.finished());
  REQUIRE_FALSE(outcome->result);
  leased.run(turn.cancel());
  leased.settle();
  REQUIRE(outcome->result);
  CHECK(outcome->result->verdict == Verdict::cancelled);
  CHECK(outcome->result->started);
  CHECK(leased.requests.ends_with("{\"type\":\"cancel\",\"execution_id\":\"e\"}\n"));
  CHECK_FALSE(leased.sandbox().was_killed);
  CHECK(leased.is_reused());
}

TEST_CASE("cancel and kill have no effect on a turn that is over") {
  Leased leased;
  leased.completes = true;
  {
    Turn turn(*leased.lease, request);
    CHECK(leased.run(turn.finished()).verdict == Verdict::ok);
    const std::string before = leased.requests;
    leased.run(turn.cancel());
    turn.kill();
    CHECK(leased.requests == before);
  }
  CHECK_FALSE(leased.sandbox().was_killed);
  CHECK(leased.is_reused());
}

TEST_CASE("a turn that is killed while it runs ends as cancelled, and its sandbox with it") {
  Leased leased;
  Turn turn(*leased.lease, request);
  const auto outcome = leased.begin(turn.finished());
  turn.kill();
  leased.settle();
  REQUIRE(outcome->result);
  CHECK(outcome->result->verdict == Verdict::cancelled);
  CHECK(outcome->result->started);
  CHECK_FALSE(outcome->result->sandbox_usable);
  CHECK_FALSE(leased.is_reused());
}

TEST_CASE("a handle that is dropped while its turn runs ends it") {
  Leased leased;
  std::optional<Turn> turn(std::in_place, *leased.lease, request);
  const auto outcome = leased.begin(turn->finished());
  turn.reset();
  leased.settle();
  REQUIRE(outcome->result);
  CHECK(outcome->result->verdict == Verdict::cancelled);
  CHECK_FALSE(leased.is_reused());
}

TEST_CASE("a handle that is dropped before its turn runs costs the lease nothing") {
  Leased leased;
  {
    const Turn turn(*leased.lease, request);
  }
  leased.completes = true;
  CHECK(leased.run(run_turn(*leased.lease, request)).verdict == Verdict::ok);
  CHECK(leased.is_reused());
}

TEST_CASE("a task that is cancelled while its turn runs kills the sandbox") {
  Leased leased;
  const auto outcome = leased.begin(run_turn(*leased.lease, request));
  outcome->cancel.emit(asio::cancellation_type::terminal);
  leased.settle();
  CHECK_FALSE(outcome->result);
  CHECK(outcome->failure);
  CHECK(leased.sandbox().was_killed);
  CHECK_FALSE(leased.is_reused());
}

TEST_CASE("a command that is left behind is cancelled, and its sandbox goes on") {
  Leased leased;
  std::optional<Turn> turn(std::in_place, *leased.lease,
                           TurnRequest{.command = {"ls"}, .execution_id = "e"});
  const auto outcome = leased.begin(turn->finished());
  SUBCASE("its handle is dropped") { turn.reset(); }
  SUBCASE("its task is cancelled") { outcome->cancel.emit(asio::cancellation_type::terminal); }
  leased.settle();
  CHECK(leased.requests.ends_with("{\"type\":\"cancel\",\"execution_id\":\"e\"}\n"));
  CHECK_FALSE(leased.sandbox().was_killed);
  CHECK(leased.is_reused());
}

TEST_CASE("a command is sent signals and sizes while it runs, and nothing else is") {
  Leased leased;
  Turn command(*leased.lease, {.command = {"ls"}, .execution_id = "e"});
  command.signal("INT");
  CHECK(leased.requests.empty());
  const auto outcome = leased.begin(command.finished());
  command.signal("TERM", true);
  command.resize({100, 30});
  leased.settle();
  CHECK(leased.requests.ends_with(
      R"({"type":"signal","execution_id":"e","signal":"TERM","whole_tree":true})"
      "\n"
      R"({"type":"resize","execution_id":"e","columns":100,"rows":30})"
      "\n"));
  leased.run(command.cancel());
  leased.settle();
  const std::string before = leased.requests;
  Turn script(*leased.lease, request);
  const auto other = leased.begin(script.finished());
  script.signal("INT");
  CHECK_FALSE(leased.run(script.write_input("x")));
  CHECK(leased.requests.find("signal", before.size()) == std::string::npos);
  leased.run(script.cancel());
  leased.settle();
}

TEST_CASE("a request that wants more than the lease allows is refused before anything is sent") {
  Leased leased;
  CHECK_THROWS_AS(leased.run(run_turn(*leased.lease, {.script = "", .time_limit = 31s})),
                  blueprint::ConfigError);
  CHECK(leased.requests.empty());
  CHECK(leased.is_reused());
}

TEST_CASE("each turn has an execution id of its own unless the caller chose one") {
  Leased leased;
  const Turn one(*leased.lease, {.script = ""});
  const Turn two(*leased.lease, {.script = ""});
  CHECK(one.execution_id() != two.execution_id());
  CHECK(Turn(*leased.lease, request).execution_id() == "e");
}
