#include "isolate/plain_memory.h"

#include "tests/support/temporary_directory.h"

#include <sys/mman.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::isolate;

namespace {

std::string region(const std::string& head, const std::string& flags = "rd wr mr mw me ac sd",
                   const std::string& more = "") {
  return head + "\nSize:               1024 kB\nRss:                 900 kB\n" +
         "AnonHugePages:       512 kB\n" + more + "VmFlags: " + flags + " \n";
}

const std::string plain = "7f0000000000-7f0000100000 rw-p 00000000 00:00 0 ";

std::vector<PlainMemory> found_in(const std::string& smaps, std::size_t capacity = 8) {
  const test::TemporaryDirectory directory;
  directory.write("smaps", smaps);
  std::vector<PlainMemory> found(capacity);
  found.resize(find_plain_memory_in((directory.path() / "smaps").c_str(), found.data(), capacity));
  return found;
}

}  // namespace

TEST_CASE("private memory without a file is found, with its pages") {
  const auto found = found_in(region(plain));
  REQUIRE(found.size() == 1);
  CHECK(found[0].begin == 0x7f0000000000);
  CHECK(found[0].end == 0x7f0000100000);
  CHECK(found[0].resident == 900 << 10);
  CHECK(found[0].in_large_pages == 512 << 10);
  CHECK(found_in(region(plain + "                         [heap]")).size() == 1);
  CHECK(found_in(region(plain), 0).empty());
  CHECK(found_in(region(plain) + region(plain), 1).size() == 1);
}

TEST_CASE("all other memory is left out") {
  const std::string range = "7f0000000000-7f0000100000 ";
  for (const std::string& head :
       {range + "r-xp 00000000 00:00 0 ", range + "rw-s 00000000 00:00 0 ",
        range + "rw-p 00000000 08:01 55 /usr/lib/libc.so", plain + "[stack]", plain + "[anon:x]",
        std::string("7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ")}) {
    CAPTURE(head);
    CHECK(found_in(region(head)).empty());
  }
  for (const std::string flags : {"rd wr mr mw me ac sd lo", "rd wr mr mw me dc", "rd wr nh"}) {
    CAPTURE(flags);
    CHECK(found_in(region(plain, flags)).empty());
  }
  CHECK(found_in(region(plain, "rd wr mr mw me ac sd", "ProtectionKey:         1\n")).empty());
  CHECK(found_in(region(plain, "rd wr mr mw me ac sd", "ProtectionKey:         0\n")).size() == 1);
}

TEST_CASE("a text of any length is read to its end") {
  std::string smaps;
  for (int i = 0; i < 500; ++i)
    smaps += region("7e0000000000-7e0000100000 r--p 00000000 08:01 5 /a/rather/long/name");
  CHECK(found_in(smaps + region(plain)).size() == 1);
  CHECK(found_in("").empty());
  CHECK(found_in("nonsense\n-\nVmFlags:\n").empty());
}

TEST_CASE("this process's own memory is found") {
  constexpr std::size_t size = 4 << 20;
  void* const made =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(made != MAP_FAILED);
  std::memset(made, 1, size);
  const auto address = reinterpret_cast<Address>(made);
  std::array<PlainMemory, 256> found{};
  const std::size_t count = find_plain_memory(found.data(), found.size());
  CHECK(std::any_of(found.begin(), found.begin() + count, [&](const PlainMemory& one) {
    return one.begin <= address && address + size <= one.end && one.resident >= size;
  }));
  ::munmap(made, size);
}
