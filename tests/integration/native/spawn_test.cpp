// A sandbox of the native backend, from the first fork to the last trace.
#include "tests/support/in_sandbox.h"
#include "tests/support/native_sandbox.h"

#include <doctest/doctest.h>

#include <sys/mman.h>

#include <cstring>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

// Since Linux 6.1, and not in every machine that pretends to be one.
bool has_large_pages() {
  constexpr std::size_t large_page = 2 << 20;
  constexpr int collapse = 25;
  void* const space =
      ::mmap(nullptr, 2 * large_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(space != MAP_FAILED);
  std::memset(space, 1, 2 * large_page);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(space) & (large_page - 1);
  const bool has = ::madvise(static_cast<char*>(space) + before, large_page, collapse) == 0;
  ::munmap(space, 2 * large_page);
  return has;
}

}  // namespace

TEST_CASE("a native sandbox runs a script") {
  NativeSandboxes sandboxes;
  const auto result = sandboxes.run("print('hello')\nemit_result(6 * 7)");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "hello\n");
  REQUIRE(result.result);
  CHECK(result.result->text == "42");
}

TEST_CASE("Python's code is shared in large pages where the kernel has them") {
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  const std::string script = R"py(
large_kb, is_there = 0, False
for line in open('/proc/self/smaps'):
    words = line.split()
    if '-' in words[0]:
        is_there = words[1] == 'r-xp' and len(words) == 5
    elif words[0] == 'AnonHugePages:' and is_there:
        large_kb += int(words[1])
print(large_kb >= 2048)
)py";
  CHECK(printed(sandboxes, *sandbox, script) == (has_large_pages() ? "True\n" : "False\n"));
}
