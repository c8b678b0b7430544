// What all sandboxes share of a zygote that makes many of them.
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/with_tool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

using namespace hearth;
using namespace hearth::test;

namespace {

constexpr std::uint64_t page = 4096;

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

// To all processes, without being asked.
bool kernel_gives_large_pages() {
  std::string choices;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), choices);
  return choices.find("[always]") != std::string::npos;
}

std::uint64_t entry_of(int table, std::uint64_t index) {
  std::uint64_t entry = 0;
  const ssize_t size = ::pread(table, &entry, sizeof entry, static_cast<off_t>(index * 8));
  return size == sizeof entry ? entry : 0;
}

// Of the process's heap, as the kernel tells root: how many of its pages are parts of larger ones.
struct HeapPages {
  explicit HeapPages(pid_t pid) {
    const std::string directory = "/proc/" + std::to_string(pid);
    const os::UniqueFd map(::open((directory + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    const os::UniqueFd flags(::open("/proc/kpageflags", O_RDONLY | O_CLOEXEC));
    std::ifstream regions(directory + "/maps");
    for (std::string line; std::getline(regions, line);) {
      if (!line.ends_with("[heap]")) continue;
      std::size_t dash = 0;
      const std::uint64_t begin = std::stoull(line, &dash, 16);
      const std::uint64_t end = std::stoull(line.substr(dash + 1), nullptr, 16);
      for (std::uint64_t number = begin / page; number < end / page; ++number) {
        const std::uint64_t frame = entry_of(map.get(), number) & ((std::uint64_t{1} << 55) - 1);
        constexpr std::uint64_t head_or_tail = 3 << 15;
        if (frame == 0) continue;
        ++seen;
        if ((entry_of(flags.get(), frame) & head_or_tail) != 0) ++in_large;
      }
    }
  }
  std::size_t seen = 0;
  std::size_t in_large = 0;
};

// As many as it takes until it is known that there will be more.
void make_many(NativeSandboxes& sandboxes) {
  for (int i = 0; i < 10; ++i) sandboxes.spawn();
}

}  // namespace

TEST_CASE("Python's code is shared in large pages where the kernel has them") {
  NativeSandboxes sandboxes;
  make_many(sandboxes);
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
  CHECK(printed(sandboxes, script) == (has_large_pages() ? "True\n" : "False\n"));
}

TEST_CASE("Python's data is moved into large pages, and is the same in every sandbox") {
  const WithTool with(R"py(
import hashlib
kept = [str(number) * 7 for number in range(100000)]
# In C's heap, which is not worth to be moved without them: Python has other places for small objects.
kept += [chr(number % 26 + 97) * 2000 for number in range(4000)]
def digest(): return hashlib.sha256(''.join(kept).encode()).hexdigest()
)py");
  NativeSandboxes sandboxes({}, with.environment);
  const auto first = sandboxes.spawn();
  const std::string digest = printed(sandboxes, *first, "print(digest())");
  const pid_t zygote = zygote_of(*first);
  const HeapPages before(zygote);
  make_many(sandboxes);
  const auto later = sandboxes.spawn();
  for (const char* const turn : {"first", "second"}) {
    CAPTURE(turn);
    CHECK(printed(sandboxes, *later, "print(digest())") == digest);
  }
  CHECK(printed(sandboxes, *first, "print(digest())") == digest);
  REQUIRE(zygote_of(*later) == zygote);
  const HeapPages after(zygote);
  if (after.seen == 0) {
    MESSAGE("not tested: needs root to see where pages are");
    return;
  }
  if (!kernel_gives_large_pages()) CHECK(before.in_large == 0);
  CHECK((after.in_large > after.seen / 2) == has_large_pages());
}

TEST_CASE("memory that a tool has reserved and not used takes no room in large pages either") {
  const WithTool with(R"py(
import mmap
reserved = mmap.mmap(-1, 512 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
reserved[:4] = b'used'
)py");
  NativeSandboxes sandboxes({}, with.environment);
  make_many(sandboxes);
  const auto sandbox = sandboxes.spawn();
  CHECK(printed(sandboxes, *sandbox, "print(reserved[:8])") == "b'used\\x00\\x00\\x00\\x00'\n");
  constexpr int most_kilobytes = 256 << 10;
  CHECK(std::stoi(status_line(zygote_of(*sandbox), "VmRSS")) < most_kilobytes);
}

TEST_CASE("memory that was moved is still one piece, which a script may let grow") {
  const WithTool with(R"py(
import mmap
blob = mmap.mmap(-1, 48 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
blob.write(b'x' * (48 << 20))
)py");
  NativeSandboxes sandboxes({}, with.environment);
  make_many(sandboxes);
  CHECK(printed(sandboxes,
                "blob.resize(64 << 20)\nprint(len(blob) >> 20, blob[:].count(b'x') >> 20)") ==
        "64 48\n");
}

TEST_CASE("the data of a zygote with threads stays where it is") {
  const WithTool with(
      "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True)"
      ".start()\n");
  NativeSandboxes sandboxes({}, with.environment);
  make_many(sandboxes);
  const auto sandbox = sandboxes.spawn();
  CHECK(printed(sandboxes, *sandbox, "print('on')") == "on\n");
  const HeapPages pages(zygote_of(*sandbox));
  if (!kernel_gives_large_pages()) CHECK(pages.in_large == 0);
}

TEST_CASE("switched off, no memory of an interpreter is moved, not even for a twin") {
  native::NativeMachineOptions options;
  options.use_large_pages = false;
  NativeSandboxes sandboxes(native::open_native_machine(options));
  const auto first = sandboxes.spawn();
  make_many(sandboxes);
  sandboxes.spawn_at_once(20);
  // Code that was moved has no file any more.
  const std::string script = R"py(
regions = [line.split() for line in open('/proc/self/maps')]
print([region for region in regions if 'x' in region[1] and len(region) == 5])
)py";
  CHECK(printed(sandboxes, script) == "[]\n");
  const HeapPages pages(zygote_of(*first));
  if (!kernel_gives_large_pages()) CHECK(pages.in_large == 0);
}
