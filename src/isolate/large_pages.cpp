// Python's code and data in pages of two megabytes. A worker maps the pages of a file one after the
// other as it comes to them, some sixty times in a short script; these it has from the start. And
// what a fork has to note for each page of data, and an end to strike out, it notes for hundreds at
// once if they are parts of a large one.
#include "isolate/plain_memory.h"
#include "isolate/steps.h"

#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>

namespace hearth::isolate {
namespace {

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

char* as_pointer(Address address, char* anywhere) {
  return anywhere + static_cast<std::ptrdiff_t>(address - reinterpret_cast<Address>(anywhere));
}

// Room for copies in large pages.
struct Space {
  char* begin;
  char* large;  // where the first of them begins
  std::size_t size;
};

Space make_space(std::size_t size) {
  constexpr int private_memory = MAP_PRIVATE | MAP_ANONYMOUS;
  const std::size_t all = size + large_page;
  void* const made = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, private_memory, -1, 0);
  if (made == MAP_FAILED) return {};
  char* const begin = static_cast<char*>(made);
  return {begin, as_pointer(rounded_up(reinterpret_cast<Address>(begin), large_page), begin), all};
}

// But for what was moved away: other threads may have put something in its place.
void release(const Space& space, char* moved_begin, char* moved_end) {
  char* const end = space.begin + space.size;
  ::munmap(space.begin, static_cast<std::size_t>(moved_begin - space.begin));
  ::munmap(moved_end, static_cast<std::size_t>(end - moved_end));
}

// False if the kernel has none, or if what is to be copied cannot be read.
bool copy_into_large_pages(char* copy, const char* place, std::size_t size) {
  const auto at = reinterpret_cast<Address>(copy);
  char* const large = copy - at % large_page;
  const std::size_t whole = rounded_up(at % large_page + size, large_page);
  // While they hold next to nothing; but of nothing at all the kernel makes none.
  for (char* one = large; one < large + whole; one += large_page) *one = 0;
  if (::madvise(large, whole, collapse) != 0) return false;
  const iovec to{copy, size};
  const iovec from{const_cast<char*>(place), size};
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(size);
}

// In one step: whatever is there goes on as it was.
bool replace(char* place, char* copy, std::size_t size) {
  constexpr int onto_it = MREMAP_MAYMOVE | MREMAP_FIXED;
  if (::mremap(copy, size, size, onto_it, place) != MAP_FAILED) return true;
  // It was refused, or it has failed halfway; then there is nothing left to go on with.
  if (::msync(place, size, MS_ASYNC) == 0) return false;
  constexpr char words[] = "Python could not be moved into large pages\n";
  ::_exit(::write(2, words, sizeof words - 1) > 0 ? 1 : 2);
}

// Not as one that is mapped as a whole, which each worker would take apart with its first write.
constexpr std::size_t skew = page;

std::size_t way_to_copy(const PlainMemory& region) { return (region.begin + skew) % large_page; }
std::size_t room_for(const PlainMemory& region) {
  return rounded_up(way_to_copy(region) + region.size(), large_page);
}

// What is only reserved would have to be filled, what fills a small part of large pages keeps the
// rest of them, and what is in such pages already would be taken out of them.
bool is_worth_moving(const PlainMemory& region) {
  return region.resident >= region.size() / 2 && room_for(region) <= 2 * region.size() &&
         region.in_large_pages < region.resident / 2;
}

// A part at a time, as each is there twice for a moment; but from one space, so that they become
// one mapping again, which a program may shrink or let grow as before.
void move(const PlainMemory& region) {
  constexpr std::size_t at_once = 32 << 20;
  const Space space = make_space(room_for(region));
  if (space.begin == nullptr) return;
  char* const copy = space.large + way_to_copy(region);
  char* const place = as_pointer(region.begin, copy);
  std::size_t done = 0;
  while (done < region.size()) {
    const std::size_t way = reinterpret_cast<Address>(copy + done) % large_page;
    const std::size_t rest = region.size() - done;
    const std::size_t size = rest < at_once - way ? rest : at_once - way;
    if (!copy_into_large_pages(copy + done, place + done, size) ||
        !replace(place + done, copy + done, size))
      break;
    done += size;
  }
  release(space, copy, copy + done);
}

bool has_small_pages() { return ::sysconf(_SC_PAGESIZE) == page; }

}  // namespace

// Constants between pieces of code become executable, too. To a script, which may bring machine
// code of its own, that is nothing new.
void put_code_into_large_pages(const void* code) {
  Stretch stretch{reinterpret_cast<Address>(code), 0, 0};
  if (!has_small_pages() || ::dl_iterate_phdr(find_stretch, &stretch) == 0) return;
  const Address begin = rounded_up(stretch.begin, large_page);
  const Address end = rounded_down(stretch.end, large_page);
  if (end <= begin) return;
  const std::size_t size = end - begin;
  const Space space = make_space(size);
  if (space.begin == nullptr) return;
  char* const place = as_pointer(begin, const_cast<char*>(static_cast<const char*>(code)));
  const bool is_moved = copy_into_large_pages(space.large, place, size) &&
                        ::mprotect(space.large, size, PROT_READ | PROT_EXEC) == 0 &&
                        replace(place, space.large, size);
  release(space, space.large, space.large + (is_moved ? size : 0));
}

// What is written between the copy and its move would be lost.
void put_data_into_large_pages() {
  if (!has_small_pages()) return;
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &previous);
  // More would keep the zygote from its requests for longer than some three seconds.
  constexpr std::size_t most_bytes = std::size_t{1} << 30;
  constexpr std::size_t most_regions = 64;
  PlainMemory regions[most_regions];
  const std::size_t count = find_plain_memory(regions, most_regions);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (is_worth_moving(regions[i]) && bytes + regions[i].size() <= most_bytes) {
      move(regions[i]);
      bytes += regions[i].size();
    }
  ::sigprocmask(SIG_SETMASK, &previous, nullptr);
}

}  // namespace hearth::isolate
