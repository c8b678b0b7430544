// session/archive.h: tar, packed with zstd, to and from a file descriptor. All of it blocks.
#pragma once

#include "os/unique_fd.h"
#include "session/sha256.h"
#include "session/tree.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct archive;

namespace hearth::session {

class ArchiveWriter : public TreeSink {
 public:
  // `fd` must outlive it; `name` is for messages.
  ArchiveWriter(int fd, std::string name);
  ~ArchiveWriter() override;
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  // All throw Error; OsError if the file could not be written.
  void begin(const TreeEntry& entry) override;
  void data(std::string_view bytes) override;
  struct Finished {
    std::uint64_t bytes = 0;
    std::string sha256{};
  };
  Finished finish();

 private:
  static long write(archive* self, void* writer, const void* bytes, std::size_t size);
  void check(long result, const std::string& step);

  int fd_;
  std::string name_;
  int write_error_ = 0;
  std::uint64_t bytes_ = 0;
  Sha256 sum_;
  archive* archive_;
};

class ArchiveReader : public TreeSource {
 public:
  // Of whatever kind libarchive knows as tar, packed or not. Throws Error.
  ArchiveReader(os::UniqueFd file, std::string name);
  ~ArchiveReader() override;
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  // Hard links are `other`. Throw Error.
  std::optional<TreeEntry> next() override;
  std::size_t read(std::span<char> into) override;

 private:
  static long read_file(archive* self, void* reader, const void** bytes);
  [[noreturn]] void fail(const std::string& step) const;

  os::UniqueFd file_;
  std::string name_;
  std::array<char, 1 << 16> buffer_{};
  archive* archive_;
};

}  // namespace hearth::session
