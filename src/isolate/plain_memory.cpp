#include "isolate/plain_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace hearth::isolate {
namespace {

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

// What somebody has asked the kernel to treat in another way stays where it is.
bool are_usual(const char* flags) {
  constexpr char usual[] = " rd wr mr mw me ac sd hg ";
  for (; std::strlen(flags) >= 3; flags += 3) {
    const char flag[] = {' ', flags[1], flags[2], ' ', 0};
    if (std::strstr(usual, flag) == nullptr) return false;
  }
  return true;
}

}  // namespace

std::size_t find_plain_memory(PlainMemory* found, std::size_t most) {
  const auto value = [](const char* line, const char* name, std::size_t& into) {
    const std::size_t length = std::strlen(name);
    if (std::strncmp(line, name, length) == 0)
      into = std::strtoul(line + length, nullptr, 10) * 1024;
  };
  constexpr Address least = 512 << 10;
  constexpr char flags[] = "VmFlags:";
  Lines lines("/proc/self/smaps");
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
      if (is_plain && count < most && !has_key && region.size() >= least &&
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
