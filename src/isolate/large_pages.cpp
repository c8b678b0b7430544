#include "isolate/large_pages.h"

#include "isolate/plain_memory.h"

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

struct CodeRange {
  Address inside;
  Address begin;
  Address end;
};

// The read-only segments around `inside`, if it lies in this program or library.
int find_code_range(dl_phdr_info* info, std::size_t /*size*/, void* result) {
  CodeRange& found = *static_cast<CodeRange*>(result);
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

// Memory for copies in large pages.
struct Space {
  char* begin;
  char* large;  // the first address that is aligned to large pages
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

// Except what was moved away: other threads may have mapped something in its place.
void release(const Space& space, char* moved_begin, char* moved_end) {
  char* const end = space.begin + space.size;
  ::munmap(space.begin, static_cast<std::size_t>(moved_begin - space.begin));
  ::munmap(moved_end, static_cast<std::size_t>(end - moved_end));
}

// False if the kernel has no large pages, or if the source cannot be read.
bool copy_into_large_pages(char* copy, const char* place, std::size_t size) {
  const auto at = reinterpret_cast<Address>(copy);
  char* const large = copy - at % large_page;
  const std::size_t whole = rounded_up(at % large_page + size, large_page);
  // While they are almost empty, so that little is copied. The kernel collapses no range that is
  // entirely empty.
  for (char* one = large; one < large + whole; one += large_page) *one = 0;
  if (::madvise(large, whole, collapse) != 0) return false;
  const iovec to{copy, size};
  const iovec from{const_cast<char*>(place), size};
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(size);
}

// In one step, so that running code does not notice.
bool replace(char* place, char* copy, std::size_t size) {
  constexpr int onto_it = MREMAP_MAYMOVE | MREMAP_FIXED;
  if (::mremap(copy, size, size, onto_it, place) != MAP_FAILED) return true;
  // If the place is still mapped, the move was refused. Otherwise it failed halfway, and Python is
  // destroyed.
  if (::msync(place, size, MS_ASYNC) == 0) return false;
  constexpr char message[] = "zygote memory lost while moving it into large pages\n";
  ::_exit(::write(2, message, sizeof message - 1) > 0 ? 1 : 2);
}

// A large page that is mapped as a whole would be split by the first write of each worker. So
// copies begin one page off.
constexpr std::size_t skew = page;

std::size_t offset_of_copy(const PlainMemory& region) { return (region.begin + skew) % large_page; }
std::size_t space_for(const PlainMemory& region) {
  return rounded_up(offset_of_copy(region) + region.size(), large_page);
}

// Not if it is mostly reserved, because the copy would fill it; not if it fills only a small part
// of large pages; and not if it is in such pages already.
bool is_worth_moving(const PlainMemory& region) {
  return region.resident >= region.size() / 2 && space_for(region) <= 2 * region.size() &&
         region.in_large_pages < region.resident / 2;
}

// In parts, because each part exists twice for a moment. All from one space, so that they become
// one mapping again, which a program may resize as before.
void move(const PlainMemory& region) {
  constexpr std::size_t at_once = 32 << 20;
  const Space space = make_space(space_for(region));
  if (space.begin == nullptr) return;
  char* const copy = space.large + offset_of_copy(region);
  char* const place = as_pointer(region.begin, copy);
  std::size_t done = 0;
  while (done < region.size()) {
    const std::size_t offset = reinterpret_cast<Address>(copy + done) % large_page;
    const std::size_t rest = region.size() - done;
    const std::size_t size = rest < at_once - offset ? rest : at_once - offset;
    if (!copy_into_large_pages(copy + done, place + done, size) ||
        !replace(place + done, copy + done, size))
      break;
    done += size;
  }
  release(space, copy, copy + done);
}

bool has_small_pages() { return ::sysconf(_SC_PAGESIZE) == page; }

}  // namespace

// Constants between pieces of code become executable, too. That gives a script nothing new: it may
// bring machine code of its own.
void put_code_into_large_pages(const void* code) {
  CodeRange range{reinterpret_cast<Address>(code), 0, 0};
  if (!has_small_pages() || ::dl_iterate_phdr(find_code_range, &range) == 0) return;
  const Address begin = rounded_up(range.begin, large_page);
  const Address end = rounded_down(range.end, large_page);
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

void put_data_into_large_pages() {
  if (!has_small_pages()) return;
  // A signal handler could write between the copy and the move, and that would be lost.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &previous);
  // More would block the zygote for longer than about three seconds.
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
