// tests/support/uncached_file.h: a file on the disk of which no page is in memory.
#pragma once

#include "os/unique_fd.h"
#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace hearth::test {

class UncachedFile {
 public:
  explicit UncachedFile(std::size_t size, const std::filesystem::path& parent =
                                              std::filesystem::temp_directory_path())
      : directory_(parent), size_(size) {
    ::chmod(directory_.path().c_str(), 0755);
    directory_.write("data", std::string(size, 'd'));
    const os::UniqueFd file(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
    ::fsync(file.get());
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }

  std::filesystem::path path() const { return directory_.path() / "data"; }
  std::size_t size() const { return size_; }
  // False in tests on a tmpfs, too.
  bool is_uncached() const { return cached_pages() == 0; }
  std::size_t cached_pages() const {
    const os::UniqueFd file(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
    void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED) return 0;
    std::vector<unsigned char> pages(size_ / static_cast<std::size_t>(::getpagesize()));
    ::mincore(mapped, size_, pages.data());
    ::munmap(mapped, size_);
    return static_cast<std::size_t>(std::count_if(
        pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }));
  }

 private:
  TemporaryDirectory directory_;
  std::size_t size_;
};

}  // namespace hearth::test
