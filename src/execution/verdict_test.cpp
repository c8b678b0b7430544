#include "execution/verdict.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace hearth;
using namespace hearth::execution;
using wire::Ending;

namespace {

wire::ScriptDone done(Ending ending, std::optional<std::int64_t> signal = {}) {
  wire::ScriptDone facts;
  facts.ending = ending;
  facts.signal = signal;
  return facts;
}

}  // namespace

TEST_CASE("every ending has its verdict") {
  CHECK(verdict_of({.done = done(Ending::completed)}) == Verdict::ok);
  CHECK(verdict_of({.done = done(Ending::failed)}) == Verdict::error);
  CHECK(verdict_of({.done = done(Ending::timed_out)}) == Verdict::timeout);
  CHECK(verdict_of({.done = done(Ending::output_limit)}) == Verdict::output_limit);
  CHECK(verdict_of({.done = done(Ending::cancelled)}) == Verdict::cancelled);
  CHECK(verdict_of({.done = done(Ending::exited)}) == Verdict::exited);
  CHECK(verdict_of({.done = done(Ending::signalled, SIGSEGV)}) == Verdict::crashed);
  CHECK(verdict_of({.done = done(Ending::missing_secret)}) == Verdict::missing_secret);
  CHECK(verdict_of({.done = done(Ending::refused)}) == Verdict::lost);
}

TEST_CASE("the kernel's kill for memory is told from every other death") {
  CHECK(verdict_of({.done = done(Ending::signalled, SIGKILL), .memory_limit_hit = true}) ==
        Verdict::memory_limit);
  CHECK(verdict_of({.done = done(Ending::signalled, SIGKILL)}) == Verdict::crashed);
  CHECK(verdict_of({.done = done(Ending::signalled, SIGSEGV), .memory_limit_hit = true}) ==
        Verdict::crashed);
  // A child was killed for memory and the script went on.
  CHECK(verdict_of({.done = done(Ending::completed), .memory_limit_hit = true}) == Verdict::ok);
  CHECK(verdict_of({.memory_limit_hit = true}) == Verdict::memory_limit);
}

TEST_CASE("without the sandbox's word the host's own facts decide") {
  CHECK(verdict_of({}) == Verdict::lost);
  CHECK(verdict_of({.host_deadline_passed = true}) == Verdict::timeout);
  CHECK(verdict_of({.output_limit_exceeded = true}) == Verdict::output_limit);
  CHECK(verdict_of({.done = done(Ending::completed), .output_limit_exceeded = true}) ==
        Verdict::output_limit);
}

TEST_CASE("every verdict has a name of its own") {
  CHECK(name_of(Verdict::ok) == "ok");
  CHECK(name_of(Verdict::memory_limit) == "memory_limit");
  CHECK(name_of(Verdict::missing_secret) == "missing_secret");
}
