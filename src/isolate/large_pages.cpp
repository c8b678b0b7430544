// Python's own code in pages of two megabytes. A worker maps the pages of a file one after the
// other as it comes to them, some sixty times in a short script, and its end unmaps them again;
// these it has from the start.
#include "isolate/steps.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace hearth::isolate {
namespace {

using Address = std::uintptr_t;

constexpr Address page = 4096;
constexpr Address large_page = 2 << 20;
constexpr int collapse = 25;  // MADV_COLLAPSE, since Linux 6.1, which Debian 12's headers lack

constexpr Address rounded_down(Address address, Address unit) { return address / unit * unit; }
constexpr Address rounded_up(Address address, Address unit) {
  return rounded_down(address + unit - 1, unit);
}

struct Stretch {
  Address inside;
  Address begin;
  Address end;
};

// The read-only segments around `inside`, if it lies in this program or library.
int find_stretch(dl_phdr_info* info, std::size_t /*size*/, void* result) {
  Stretch& found = *static_cast<Stretch*>(result);
  Address begin = 0;
  Address end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const Address first = rounded_down(info->dlpi_addr + segment.p_vaddr, page);
    const Address last = rounded_up(info->dlpi_addr + segment.p_vaddr + segment.p_memsz, page);
    const bool goes_on = first == end && (segment.p_flags & PF_W) == 0;
    if (!goes_on && found.inside >= begin && found.inside < end) break;
    if (!goes_on) begin = first;
    end = (segment.p_flags & PF_W) == 0 ? last : first;
  }
  if (found.inside < begin || found.inside >= end) return 0;
  found.begin = begin;
  found.end = end;
  return 1;
}

void* copy_of(const void* code, std::size_t size) {
  constexpr int private_memory = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const space =
      ::mmap(nullptr, size + large_page, PROT_READ | PROT_WRITE, private_memory, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<Address>(space);
  const Address aligned = rounded_up(begin, large_page);
  char* const copy = static_cast<char*>(space) + (aligned - begin);
  if (aligned > begin) ::munmap(space, aligned - begin);
  ::munmap(copy + size, begin + large_page - aligned);
  std::memcpy(copy, code, size);
  // In small pages it would only be one more copy.
  if (::madvise(copy, size, collapse) == 0 && ::mprotect(copy, size, PROT_READ | PROT_EXEC) == 0)
    return copy;
  ::munmap(copy, size);
  return nullptr;
}

}  // namespace

// Constants between pieces of code become executable, too. To a script, which may bring machine
// code of its own, that is nothing new.
void put_into_large_pages(const void* code) {
  Stretch stretch{reinterpret_cast<Address>(code), 0, 0};
  if (::dl_iterate_phdr(find_stretch, &stretch) == 0) return;
  const Address begin = rounded_up(stretch.begin, large_page);
  const Address end = rounded_down(stretch.end, large_page);
  if (end <= begin) return;
  char* const place = const_cast<char*>(static_cast<const char*>(code)) +
                      static_cast<std::ptrdiff_t>(begin - stretch.inside);
  void* const copy = copy_of(place, end - begin);
  if (copy == nullptr) return;
  // In one step: whatever runs there goes on with the same code. If it fails there is no code left
  // to go on with.
  constexpr int onto_it = MREMAP_MAYMOVE | MREMAP_FIXED;
  if (::mremap(copy, end - begin, end - begin, onto_it, place) != MAP_FAILED) return;
  constexpr char words[] = "Python's code could not be moved into large pages\n";
  ::_exit(::write(2, words, sizeof words - 1) > 0 ? 1 : 2);
}

}  // namespace hearth::isolate
