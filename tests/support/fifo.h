// tests/support/fifo.h: by a FIFO that a process holds open, its end is seen from outside. A
// process that may not write to a directory may still write to a FIFO in it.
#pragma once

#include "os/unique_fd.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace hearth::test {

class Fifo {
 public:
  explicit Fifo(const std::filesystem::path& path) {
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    REQUIRE(::chmod(path.c_str(), 0666) == 0);  // whatever the umask
    reader_.reset(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(reader_);
  }

  // Now; what was written is dropped.
  bool has_no_writer() const {
    char byte = 0;
    ssize_t size = 1;
    while (size > 0) size = ::read(reader_.get(), &byte, 1);
    return size == 0;
  }
  // Soon.
  bool loses_its_writer() const {
    while (!has_no_writer()) {
      pollfd event{reader_.get(), POLLIN, 0};
      if (::poll(&event, 1, 60'000) != 1) return false;
    }
    return true;
  }

 private:
  os::UniqueFd reader_;
};

}  // namespace hearth::test
