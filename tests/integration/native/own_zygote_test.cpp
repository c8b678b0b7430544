// Which zygote makes a sandbox, and what sandboxes of one have in common.
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <set>
#include <string>

using namespace hearth;
using namespace hearth::test;

namespace {

std::shared_ptr<const native::NativeMachine> host_with(native::Zygotes zygotes) {
  native::NativeMachineOptions options;
  options.zygotes = zygotes;
  return native::open_native_machine(options);
}

// Where libc lies, and what Python mixes into its hashes.
const std::string layout = R"py(
print(next(line.split('-')[0] for line in open('/proc/self/maps') if 'libc.so' in line or 'libc-' in line))
print(hash('x'))
)py";

// Among them the launcher of each zygote.
std::set<pid_t> own_children() {
  std::set<pid_t> children;
  for (const pid_t pid : all_processes())
    if (parent_of(pid) == ::getpid()) children.insert(pid);
  return children;
}

}  // namespace

TEST_CASE("sandboxes of one zygote have the same addresses and the same hash seed") {
  NativeSandboxes sandboxes;
  CHECK(printed(sandboxes, layout) == printed(sandboxes, layout));
}

TEST_CASE("with a zygote per sandbox no two have the same addresses or the same hash seed") {
  NativeSandboxes sandboxes(host_with(native::Zygotes::per_sandbox));
  const std::string one = printed(sandboxes, layout);
  const std::string other = printed(sandboxes, layout);
  const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  const auto rest = [](const std::string& text) { return text.substr(text.find('\n')); };
  CHECK(first_line(one) != first_line(other));
  CHECK(rest(one) != rest(other));
}

TEST_CASE("a zygote per sandbox makes its later workers too, and ends with it") {
  NativeSandboxes sandboxes(host_with(native::Zygotes::per_sandbox));
  auto sandbox = sandboxes.spawn();
  const auto neighbour = sandboxes.spawn();
  const pid_t zygote = zygote_of(*sandbox);
  CHECK(zygote != zygote_of(*neighbour));
  const std::string of_first_worker = printed(sandboxes, *sandbox, layout);
  CHECK(printed(sandboxes, *sandbox, layout) == of_first_worker);
  const os::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, zygote, 0)));
  REQUIRE(process);
  sandbox.reset();
  run_task(sandboxes.loop(), native::process_ended(process.get()));
  CHECK(printed(sandboxes, *neighbour, "print('on')") == "on\n");
}

TEST_CASE("with a zygote per sandbox the one that was started ahead is the first sandbox's") {
  NativeSandboxes sandboxes(host_with(native::Zygotes::per_sandbox));
  run_task(sandboxes.loop(), sandboxes.source().start());
  const std::set<pid_t> started = own_children();
  const auto first = sandboxes.spawn();
  CHECK(own_children() == started);
  const auto second = sandboxes.spawn();
  CHECK(own_children().size() == started.size() + 1);
  CHECK(printed(sandboxes, *second, "print('on')") == "on\n");
}
