// tests/support/faulty_calls.h: system calls of this process that fail when a test says so. The
// functions of libc that the code under test and its libraries call are replaced, so it has to be
// included by one source of a program.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>

namespace hearth::test {

enum class Fault { none, no_space, io_error, short_write, kill };

// From arm() on calls are counted; the one with that number fails.
class FaultyCalls {
 public:
  static void arm(Fault fault, long number) {
    armed = fault;
    left = number;
    was_hit = false;
  }
  // True if there were so many calls.
  static bool disarm() {
    armed = Fault::none;
    return was_hit;
  }
  // Returns what the call has to fail with: 0, ENOSPC, EIO.
  static int error_of_next() {
    switch (next()) {
      case Fault::no_space:
        return ENOSPC;
      case Fault::io_error:
        return EIO;
      case Fault::kill:
        ::kill(::getpid(), SIGKILL);
        return EIO;
      case Fault::short_write:
      case Fault::none:
        break;
    }
    return 0;
  }
  // The same for a write: may also cut it short.
  static int error_of_next_write(std::size_t& size) {
    if (armed != Fault::short_write) return error_of_next();
    if (next() == Fault::short_write && size > 1) size /= 2;
    return 0;
  }

 private:
  static Fault next() {
    const Fault fault = armed;
    if (fault == Fault::none || --left != 0) return Fault::none;
    was_hit = true;
    return fault;
  }
  static inline std::atomic<Fault> armed{Fault::none};
  static inline std::atomic<long> left{0};
  static inline std::atomic<bool> was_hit{false};
};

template <typename... Arguments>
long faulty_call(long number, Arguments... arguments) {
  if (const int error = FaultyCalls::error_of_next()) {
    errno = error;
    return -1;
  }
  return ::syscall(number, arguments...);
}

inline long faulty_write(long number, int fd, const void* bytes, std::size_t size, long offset) {
  if (const int error = FaultyCalls::error_of_next_write(size)) {
    errno = error;
    return -1;
  }
  return ::syscall(number, fd, bytes, size, offset);
}

inline int faulty_open(int directory, const char* path, int flags, std::va_list rest) {
  const bool has_mode = (flags & (O_CREAT | O_TMPFILE)) != 0;
  const mode_t mode = has_mode ? va_arg(rest, mode_t) : 0;
  return static_cast<int>(faulty_call(SYS_openat, directory, path, flags, mode));
}

}  // namespace hearth::test

// NOLINTBEGIN: these are libc's names and types
#define HEARTH_FAULTY_OPEN(name)                                           \
  int name(const char* path, int flags, ...) {                             \
    std::va_list rest;                                                     \
    va_start(rest, flags);                                                 \
    const int fd = hearth::test::faulty_open(AT_FDCWD, path, flags, rest); \
    va_end(rest);                                                          \
    return fd;                                                             \
  }
#define HEARTH_FAULTY_OPENAT(name)                                          \
  int name(int directory, const char* path, int flags, ...) {               \
    std::va_list rest;                                                      \
    va_start(rest, flags);                                                  \
    const int fd = hearth::test::faulty_open(directory, path, flags, rest); \
    va_end(rest);                                                           \
    return fd;                                                              \
  }
extern "C" {
HEARTH_FAULTY_OPEN(open)
HEARTH_FAULTY_OPEN(open64)
HEARTH_FAULTY_OPENAT(openat)
HEARTH_FAULTY_OPENAT(openat64)
ssize_t write(int fd, const void* bytes, size_t size) {
  return hearth::test::faulty_write(SYS_write, fd, bytes, size, 0);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return hearth::test::faulty_write(SYS_pwrite64, fd, bytes, size, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  return hearth::test::faulty_write(SYS_pwrite64, fd, bytes, size, offset);
}
ssize_t read(int fd, void* bytes, size_t size) {
  return hearth::test::faulty_call(SYS_read, fd, bytes, size);
}
int fsync(int fd) { return static_cast<int>(hearth::test::faulty_call(SYS_fsync, fd)); }
int fdatasync(int fd) { return static_cast<int>(hearth::test::faulty_call(SYS_fdatasync, fd)); }
int ftruncate(int fd, off_t size) noexcept {
  return static_cast<int>(hearth::test::faulty_call(SYS_ftruncate, fd, size));
}
int fchmod(int fd, mode_t mode) noexcept {
  return static_cast<int>(hearth::test::faulty_call(SYS_fchmod, fd, mode));
}
int chmod(const char* path, mode_t mode) noexcept {
  return static_cast<int>(hearth::test::faulty_call(SYS_chmod, path, mode));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return static_cast<int>(hearth::test::faulty_call(SYS_mkdir, path, mode));
}
int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(hearth::test::faulty_call(SYS_rename, from, to));
}
int unlink(const char* path) noexcept {
  return static_cast<int>(hearth::test::faulty_call(SYS_unlink, path));
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  return static_cast<int>(hearth::test::faulty_call(SYS_unlinkat, directory, path, flags));
}
}
// NOLINTEND
