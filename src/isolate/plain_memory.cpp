#include "isolate/plain_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace hearth::isolate {
namespace {

// Lines of a file that may be larger than the buffer.
class Lines {
 public:
  explicit Lines(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Lines() { ::close(file_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // Null at the end of the file, and at a line that is longer than the buffer.
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

// "begin-end rw-p offset device inode name": memory that can be written, private and of no file.
bool is_plain_memory(char* line, PlainMemory& region) {
  constexpr char plain[] = " rw-p 00000000 00:00 0";
  char* rest = nullptr;
  region = {};
  region.begin = std::strtoul(line, &rest, 16);
  if (*rest != '-') return false;
  region.end = std::strtoul(rest + 1, &rest, 16);
  if (std::strncmp(rest, plain, sizeof plain - 1) != 0) return false;
  const char* name = rest + sizeof plain - 1;
  while (*name == ' ') ++name;
  return *name == 0 || std::strcmp(name, "[heap]") == 0;
}

// Memory that the kernel was advised to treat specially stays where it is.
bool are_usual(const char* flags) {
  constexpr char usual[] = " rd wr mr mw me ac sd hg ";
  for (; std::strlen(flags) >= 3; flags += 3) {
    const char flag[] = {' ', flags[1], flags[2], ' ', 0};
    if (std::strstr(usual, flag) == nullptr) return false;
  }
  return true;
}

}  // namespace

std::size_t find_plain_memory(PlainMemory* found, std::size_t capacity) {
  return find_plain_memory_in("/proc/self/smaps", found, capacity);
}

std::size_t find_plain_memory_in(const char* smaps, PlainMemory* found, std::size_t capacity) {
  const auto value = [](const char* line, const char* name, std::size_t& into) {
    const std::size_t length = std::strlen(name);
    if (std::strncmp(line, name, length) == 0)
      into = std::strtoul(line + length, nullptr, 10) * 1024;
  };
  constexpr Address least = 512 << 10;
  constexpr char flags[] = "VmFlags:";
  Lines lines(smaps);
  std::size_t count = 0;
  PlainMemory region{};
  bool is_plain = false;
  bool has_key = false;
  while (char* line = lines.next()) {
    std::size_t key = 0;
    value(line, "Rss:", region.resident);
    value(line, "AnonHugePages:", region.in_large_pages);
    value(line, "ProtectionKey:", key);
    has_key = has_key || key != 0;
    if (std::strncmp(line, flags, sizeof flags - 1) == 0) {
      if (is_plain && count < capacity && !has_key && region.size() >= least &&
          are_usual(line + sizeof flags - 1))
        found[count++] = region;
      is_plain = false;
    } else if (std::strchr(line, '-') != nullptr) {
      is_plain = is_plain_memory(line, region);
      has_key = false;
    }
  }
  return count;
}

}  // namespace hearth::isolate
