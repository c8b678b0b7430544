#include "session/archive.h"

#include "base/error.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

namespace hearth::session {
namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;

using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

unsigned type_of(TreeKind kind) {
  if (kind == TreeKind::directory) return AE_IFDIR;
  return kind == TreeKind::symlink ? AE_IFLNK : AE_IFREG;
}

TreeKind kind_of(archive_entry* entry) {
  if (::archive_entry_hardlink(entry) != nullptr) return TreeKind::other;
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      return TreeKind::file;
    case AE_IFDIR:
      return TreeKind::directory;
    case AE_IFLNK:
      return TreeKind::symlink;
    default:
      return TreeKind::other;
  }
}

// Names are bytes here. libarchive has those of a tar that says UTF-8 only in that form.
std::string either(const char* bytes, const char* utf8) {
  if (bytes != nullptr) return bytes;
  return utf8 != nullptr ? utf8 : "";
}

// An archive may name any year; those beyond 1677 and 2262 become the nearest that fits.
std::int64_t nanoseconds_of(std::int64_t seconds, std::int64_t rest) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / ns_per_second - 1;
  return std::clamp(seconds, -most, most) * ns_per_second +
         std::clamp<std::int64_t>(rest, 0, ns_per_second - 1);
}

std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : text; }

}  // namespace

ArchiveWriter::ArchiveWriter(int fd, std::string name)
    : fd_(fd), name_(std::move(name)), archive_(::archive_write_new()) {
  if (archive_ == nullptr) throw Error("libarchive cannot make an archive");
  check(::archive_write_set_format_pax(archive_), "choose a format");
  check(::archive_write_add_filter_zstd(archive_), "choose a compression");
  check(::archive_write_set_bytes_per_block(archive_, 1 << 18), "choose a block size");
  check(::archive_write_set_bytes_in_last_block(archive_, 1), "choose a block size");
  check(::archive_write_open(archive_, this, nullptr, write, nullptr), "begin");
}

ArchiveWriter::~ArchiveWriter() { ::archive_write_free(archive_); }

long ArchiveWriter::write(archive* self, void* writer, const void* bytes, std::size_t size) {
  auto& me = *static_cast<ArchiveWriter*>(writer);
  const ssize_t written = ::write(me.fd_, bytes, size);  // libarchive writes the rest
  if (written < 0) {
    me.write_error_ = errno;
    ::archive_set_error(self, errno, "write");
    return -1;
  }
  me.sum_.add({static_cast<const char*>(bytes), static_cast<std::size_t>(written)});
  me.bytes_ += static_cast<std::uint64_t>(written);
  return written;
}

void ArchiveWriter::check(long result, const std::string& step) {
  if (write_error_ != 0) throw OsError("write " + name_, write_error_);
  if (result >= ARCHIVE_WARN) return;
  throw Error("write " + name_ + ": " + step + ": " +
              text_or_empty(::archive_error_string(archive_)));
}

void ArchiveWriter::begin(const TreeEntry& entry) {
  const Entry header(::archive_entry_new(), ::archive_entry_free);
  ::archive_entry_copy_pathname(header.get(), entry.path.c_str());
  ::archive_entry_set_filetype(header.get(), type_of(entry.kind));
  ::archive_entry_set_perm(header.get(), entry.mode & 0777U);
  ::archive_entry_set_mtime(header.get(), entry.modified_ns / ns_per_second,
                            static_cast<long>(entry.modified_ns % ns_per_second));
  if (entry.kind == TreeKind::symlink)
    ::archive_entry_copy_symlink(header.get(), entry.target.c_str());
  const bool is_file = entry.kind == TreeKind::file;
  ::archive_entry_set_size(header.get(), is_file ? static_cast<la_int64_t>(entry.size_bytes) : 0);
  check(::archive_write_header(archive_, header.get()), entry.path);
}

void ArchiveWriter::data(std::string_view bytes) {
  check(::archive_write_data(archive_, bytes.data(), bytes.size()), "data");
}

ArchiveWriter::Finished ArchiveWriter::finish() {
  check(::archive_write_close(archive_), "end");
  return {bytes_, sum_.finish()};
}

ArchiveReader::ArchiveReader(os::UniqueFd file, std::string name)
    : file_(std::move(file)), name_(std::move(name)), archive_(::archive_read_new()) {
  if (archive_ == nullptr) throw Error("libarchive cannot read an archive");
  const bool is_ready =
      ::archive_read_support_filter_zstd(archive_) >= ARCHIVE_WARN &&
      ::archive_read_support_filter_gzip(archive_) >= ARCHIVE_WARN &&
      ::archive_read_support_format_tar(archive_) >= ARCHIVE_WARN &&
      ::archive_read_open(archive_, this, nullptr, read_file, nullptr) >= ARCHIVE_WARN;
  if (is_ready) return;
  const std::string why = text_or_empty(::archive_error_string(archive_));
  ::archive_read_free(archive_);
  throw Error("read " + name_ + ": " + why);
}

ArchiveReader::~ArchiveReader() { ::archive_read_free(archive_); }

long ArchiveReader::read_file(archive* self, void* reader, const void** bytes) {
  auto& me = *static_cast<ArchiveReader*>(reader);
  *bytes = me.buffer_.data();
  while (true) {
    const ssize_t count = ::read(me.file_.get(), me.buffer_.data(), me.buffer_.size());
    if (count >= 0) return count;
    if (errno == EINTR) continue;
    ::archive_set_error(self, errno, "read");
    return -1;
  }
}

void ArchiveReader::fail(const std::string& step) const {
  throw Error("read " + name_ + ": " + step + ": " +
              text_or_empty(::archive_error_string(archive_)));
}

std::optional<TreeEntry> ArchiveReader::next() {
  archive_entry* header = nullptr;
  const int result = ::archive_read_next_header(archive_, &header);
  if (result == ARCHIVE_EOF) return std::nullopt;
  if (result < ARCHIVE_WARN) fail("header");
  TreeEntry entry;
  entry.path = either(::archive_entry_pathname(header), ::archive_entry_pathname_utf8(header));
  entry.kind = kind_of(header);
  const bool is_directory = entry.kind == TreeKind::directory;
  while (is_directory && entry.path.ends_with('/')) entry.path.pop_back();
  entry.size_bytes =
      entry.kind == TreeKind::file ? static_cast<std::uint64_t>(::archive_entry_size(header)) : 0;
  entry.mode = ::archive_entry_perm(header) & 0777U;
  entry.modified_ns =
      nanoseconds_of(::archive_entry_mtime(header), ::archive_entry_mtime_nsec(header));
  if (entry.kind == TreeKind::symlink)
    entry.target = either(::archive_entry_symlink(header), ::archive_entry_symlink_utf8(header));
  return entry;
}

std::size_t ArchiveReader::read(std::span<char> into) {
  const la_ssize_t count = ::archive_read_data(archive_, into.data(), into.size());
  if (count < 0) fail("data");
  return static_cast<std::size_t>(count);
}

}  // namespace hearth::session
