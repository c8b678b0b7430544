#include "builder/tar_archive.h"

#include "base/error.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <utility>

namespace hearth::builder {
namespace {

la_ssize_t append(archive* /*self*/, void* bytes, const void* data, std::size_t size) {
  static_cast<std::string*>(bytes)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

}  // namespace

TarArchive::TarArchive() : archive_(::archive_write_new()) {
  if (archive_ == nullptr) throw Error("libarchive cannot make an archive");
  check(::archive_write_set_format_pax_restricted(archive_), "choose a format");
  check(::archive_write_open(archive_, &bytes_, nullptr, append, nullptr), "begin");
}

TarArchive::~TarArchive() { ::archive_write_free(archive_); }

void TarArchive::check(int result, const std::string& step) {
  if (result >= ARCHIVE_WARN) return;
  const char* why = ::archive_error_string(archive_);
  throw Error("make a tar: " + step + ": " + (why != nullptr ? why : "no reason given"));
}

void TarArchive::add(const std::string& path, std::string_view content, unsigned type,
                     unsigned mode) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(::archive_entry_new(),
                                                                       ::archive_entry_free);
  ::archive_entry_set_pathname(entry.get(), path.c_str());
  ::archive_entry_set_filetype(entry.get(), type);
  ::archive_entry_set_perm(entry.get(), mode);
  ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
  check(::archive_write_header(archive_, entry.get()), path);
  if (content.empty()) return;
  if (::archive_write_data(archive_, content.data(), content.size()) !=
      static_cast<la_ssize_t>(content.size()))
    check(ARCHIVE_FATAL, path);
}

void TarArchive::add_file(const std::string& path, std::string_view content, unsigned mode) {
  add(path, content, S_IFREG, mode);
}

void TarArchive::add_directory(const std::string& path) { add(path, {}, S_IFDIR, 0755); }

std::string TarArchive::finish() {
  check(::archive_write_close(archive_), "end");
  return std::move(bytes_);
}

}  // namespace hearth::builder
