// Python's code and data in pages of two megabytes. A worker maps the pages of a file one after the
// other as it comes to them, some sixty times in a short script; these it has from the start. And
// what a fork has to note for each page of data, and an end to strike out, it notes for hundreds at
// once if they are parts of a large one.
#include "isolate/steps.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
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

char* as_pointer(Address address, char* anywhere) {
  return anywhere + static_cast<std::ptrdiff_t>(address - reinterpret_cast<Address>(anywhere));
}

// A copy in large pages, of which it begins at the place of its original's own address, but for
// `skew`.
char* copy_of(const char* place, std::size_t size, int protection, std::size_t skew) {
  constexpr int private_memory = MAP_PRIVATE | MAP_ANONYMOUS;
  const std::size_t before = (reinterpret_cast<Address>(place) + skew) % large_page;
  const std::size_t whole = rounded_up(before + size, large_page);
  void* const space =
      ::mmap(nullptr, whole + large_page, PROT_READ | PROT_WRITE, private_memory, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(space);
  char* const end = begin + whole + large_page;
  char* const large = as_pointer(rounded_up(reinterpret_cast<Address>(begin), large_page), begin);
  char* const copy = large + before;
  // While they hold next to nothing; but of nothing at all the kernel makes none.
  for (char* one = large; one < large + whole; one += large_page) *one = 0;
  if (::madvise(large, whole, collapse) != 0) {
    ::munmap(begin, whole + large_page);
    return nullptr;
  }
  std::memcpy(copy, place, size);
  ::munmap(begin, static_cast<std::size_t>(copy - begin));
  ::munmap(copy + size, static_cast<std::size_t>(end - (copy + size)));
  if (::mprotect(copy, size, protection) == 0) return copy;
  ::munmap(copy, size);
  return nullptr;
}

void move_into_large_pages(char* place, std::size_t size, int protection, std::size_t skew) {
  char* const copy = copy_of(place, size, protection, skew);
  if (copy == nullptr) return;
  // In one step: whatever is there goes on as it was. If it fails there is nothing left to go on
  // with.
  constexpr int onto_it = MREMAP_MAYMOVE | MREMAP_FIXED;
  if (::mremap(copy, size, size, onto_it, place) != MAP_FAILED) return;
  constexpr char words[] = "Python could not be moved into large pages\n";
  ::_exit(::write(2, words, sizeof words - 1) > 0 ? 1 : 2);
}

// Of a file that may be longer than there is room for.
class Lines {
 public:
  explicit Lines(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Lines() { ::close(file_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // Null at the end. Of what is longer than the buffer, nothing is told.
  char* next() {
    while (true) {
      if (auto* newline = static_cast<char*>(std::memchr(text_ + at_, '\n', size_ - at_))) {
        char* const line = text_ + at_;
        *newline = 0;
        at_ = static_cast<std::size_t>(newline + 1 - text_);
        return line;
      }
      std::memmove(text_, text_ + at_, size_ - at_);
      size_ -= at_;
      at_ = 0;
      const ssize_t count = ::read(file_, text_ + size_, sizeof text_ - size_);
      if (count <= 0) return nullptr;
      size_ += static_cast<std::size_t>(count);
    }
  }

 private:
  int file_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  char text_[8192] = {};
};

struct Region {
  Address begin;
  Address end;
};

// "begin-end rw-p offset device inode name": memory that can be written, private and of no file.
bool is_plain_memory(char* line, Region& region) {
  char* rest = nullptr;
  region.begin = std::strtoul(line, &rest, 16);
  if (*rest != '-') return false;
  region.end = std::strtoul(rest + 1, &rest, 16);
  if (std::strncmp(rest, " rw-p 00000000 00:00 0", 22) != 0) return false;
  const char* name = rest + 22;
  while (*name == ' ') ++name;
  return *name == 0 || std::strcmp(name, "[heap]") == 0;
}

// What somebody has asked the kernel to treat in another way stays where it is.
bool are_usual(const char* flags) {
  constexpr char usual[] = " rd wr mr mw me ac sd hg ";
  for (; std::strlen(flags) >= 3; flags += 3) {
    const char flag[] = {' ', flags[1], flags[2], ' ', 0};
    if (std::strstr(usual, flag) == nullptr) return false;
  }
  return true;
}

constexpr std::size_t most_regions = 64;

std::size_t find_regions(Region* regions) {
  // Less is not worth a large page.
  constexpr Address least = 512 << 10;
  constexpr char resident[] = "Rss:";
  constexpr char flags[] = "VmFlags:";
  Lines lines("/proc/self/smaps");
  std::size_t count = 0;
  Region region{};
  bool is_wanted = false;
  while (char* line = lines.next()) {
    // What is only reserved would have to be filled.
    if (is_wanted && std::strncmp(line, resident, sizeof resident - 1) == 0)
      is_wanted = std::strtoul(line + sizeof resident - 1, nullptr, 10) * 1024 >=
                  (region.end - region.begin) / 2;
    if (std::strncmp(line, flags, sizeof flags - 1) == 0) {
      if (is_wanted && count < most_regions && are_usual(line + sizeof flags - 1))
        regions[count++] = region;
      is_wanted = false;
    } else if (std::strchr(line, '-') != nullptr && !is_wanted) {
      is_wanted = is_plain_memory(line, region) && region.end - region.begin >= least;
    }
  }
  return count;
}

}  // namespace

// Constants between pieces of code become executable, too. To a script, which may bring machine
// code of its own, that is nothing new.
void put_code_into_large_pages(const void* code) {
  Stretch stretch{reinterpret_cast<Address>(code), 0, 0};
  if (::dl_iterate_phdr(find_stretch, &stretch) == 0) return;
  const Address begin = rounded_up(stretch.begin, large_page);
  const Address end = rounded_down(stretch.end, large_page);
  if (end <= begin) return;
  char* const inside = const_cast<char*>(static_cast<const char*>(code));
  move_into_large_pages(as_pointer(begin, inside), end - begin, PROT_READ | PROT_EXEC, 0);
}

// What is written between the copy and its move would be lost.
void put_data_into_large_pages() {
  // Not as one that is mapped as a whole, which each worker would take apart with its first write.
  constexpr std::size_t skew = page;
  // So much memory is needed twice for a moment, and so much is moved in some three seconds.
  constexpr std::size_t at_once = 32 << 20;
  constexpr std::size_t most = 1 << 30;
  Region regions[most_regions];
  const std::size_t count = find_regions(regions);
  std::size_t moved = 0;
  char here = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (Address at = regions[i].begin; at < regions[i].end && moved < most; at += at_once) {
      const std::size_t rest = regions[i].end - at;
      const std::size_t size = rest < at_once ? rest : at_once;
      move_into_large_pages(as_pointer(at, &here), size, PROT_READ | PROT_WRITE, skew);
      moved += size;
    }
}

}  // namespace hearth::isolate
