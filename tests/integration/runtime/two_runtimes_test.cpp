// Several runtimes in one process: nothing is shared but the log.
#include "execution/turn.h"
#include "runtime/runtime.h"
#include "tests/support/native_pool.h"

#include <doctest/doctest.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

using namespace hearth;
using namespace hearth::test;

namespace {

constexpr int turns = 20;

// What its turns printed, each in a sandbox of its own.
std::vector<std::string> run_turns(const std::string& word, std::barrier<>& all_started) {
  std::vector<std::string> printed;
  NativePool pool({pool_config("default", 2)}, pool_options(1, 2));
  pool.startup();
  all_started.arrive_and_wait();
  for (int i = 0; i < turns; ++i) {
    pool::Lease lease = pool.checkout();
    printed.push_back(pool.turn(lease, "print('" + word + "')").stdout_text);
  }
  return printed;
}

}  // namespace

TEST_CASE("two runtimes in two threads run turns at the same time") {
  std::barrier all_started(2);
  std::vector<std::string> ones;
  std::vector<std::string> others;
  {
    const std::jthread one([&] { ones = run_turns("one", all_started); });
    const std::jthread other([&] { others = run_turns("other", all_started); });
  }
  CHECK(ones == std::vector<std::string>(turns, "one\n"));
  CHECK(others == std::vector<std::string>(turns, "other\n"));
}

TEST_CASE("the end of one runtime is not the end of another's sandboxes") {
  NativePool first({pool_config("default", 1)}, pool_options(1, 1));
  first.startup();
  pool::Lease kept = first.checkout();
  {
    NativePool second({pool_config("default", 1)}, pool_options(1, 1));
    second.startup();
    pool::Lease lease = second.checkout();
    CHECK(second.turn(lease, "print(2)").stdout_text == "2\n");
  }
  CHECK(first.turn(kept, "print(1)").stdout_text == "1\n");
}
