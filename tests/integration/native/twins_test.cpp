// Zygotes that have twins, because several sandboxes were wanted at once.
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

using namespace hearth;
using namespace hearth::test;

namespace {

using Sandboxes = std::vector<std::unique_ptr<backend::Sandbox>>;

std::set<pid_t> zygotes_of(const Sandboxes& all) {
  std::set<pid_t> zygotes;
  for (const auto& one : all) zygotes.insert(zygote_of(*one));
  return zygotes;
}

pid_t twin_among(const Sandboxes& all) {
  for (const pid_t zygote : zygotes_of(all))
    if (pid_namespace_of(parent_of(zygote)) == pid_namespace_of(zygote)) return zygote;
  return 0;
}

bool has_one_processor() { return std::thread::hardware_concurrency() < 2; }

}  // namespace

TEST_CASE(
    "sandboxes that are wanted at once come from several zygotes, each as good as the other") {
  NativeSandboxes sandboxes;
  const Sandboxes all = sandboxes.spawn_at_once(6);
  CHECK((zygotes_of(all).size() == 1) == has_one_processor());
  for (const auto& one : all) {
    CHECK(pid_namespace_of(zygote_of(*one)) == pid_namespace_of(zygote_of(*all.front())));
    CHECK(printed(sandboxes, *one, "open('mine', 'x'); print(open('mine').read() == '')") ==
          "True\n");
  }
}

TEST_CASE("a caller that wants one sandbox after the other has one zygote") {
  NativeSandboxes sandboxes;
  Sandboxes all;
  for (int i = 0; i < 6; ++i) all.push_back(sandboxes.spawn());
  CHECK(zygotes_of(all).size() == 1);
}

TEST_CASE("when a twin is killed its sandboxes go on, and new ones and their workers are made") {
  NativeSandboxes sandboxes;
  const Sandboxes before = sandboxes.spawn_at_once(6);
  const pid_t twin = twin_among(before);
  REQUIRE((twin == 0) == has_one_processor());
  // Until it is gone: one that may have got a request takes all sandboxes along.
  while (twin > 0 && ::kill(twin, SIGKILL) == 0) ::usleep(1000);
  const Sandboxes after = sandboxes.spawn_at_once(6);
  for (const Sandboxes* all : {&before, &after})
    for (const auto& one : *all)
      for (const char* const turn : {"first", "second"})
        CHECK(printed(sandboxes, *one, std::string("print('") + turn + "')") ==
              std::string(turn) + '\n');
}
