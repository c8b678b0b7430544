#include "cli/copied_trees.h"

#include "api/text.h"
#include "base/error.h"
#include "base/printable.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace hearth::cli {

using wire::FileEntry;
using wire::FileKind;

OneFile::OneFile(os::UniqueFd file, std::string name)
    : file_(std::move(file)), name_(std::move(name)) {}

std::optional<FileEntry> OneFile::next() {
  if (std::exchange(is_given_, true)) return std::nullopt;
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) throw OsError("read " + name_);
  left_ = static_cast<std::uint64_t>(status.st_size);
  return FileEntry{.path = name_,
                   .kind = FileKind::file,
                   .size_bytes = left_,
                   .mode = status.st_mode & 0777,
                   .modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

// No more than it was said to have: a log may grow.
std::size_t OneFile::read(std::span<char> into) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
  ssize_t got = ::read(file_.get(), into.data(), wanted);
  while (got < 0 && errno == EINTR) got = ::read(file_.get(), into.data(), wanted);
  if (got < 0) throw OsError("read " + name_);
  left_ -= static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

Task<std::optional<FileEntry>> OneSandboxFile::next() {
  if (std::exchange(is_given_, true)) co_return std::nullopt;
  FileEntry entry = file_.entry();
  entry.path = name_;
  co_return entry;
}

Task<std::string> OneSandboxFile::read() { co_return co_await file_.next(); }

Task<std::optional<FileEntry>> WatchedTree::next() {
  while (std::optional<FileEntry> entry = co_await tree_.next()) {
    if (!on_entry_(*entry)) continue;
    if (entry->kind == FileKind::file) progress_.add_file();
    co_return entry;
  }
  co_return std::nullopt;
}

Task<std::string> WatchedTree::read() {
  std::string bytes = co_await tree_.read();
  progress_.add_bytes(bytes.size());
  co_return bytes;
}

void NamedFiles::add(const std::string& path) {
  constexpr std::uint64_t most_named = 10;
  if (count_++ >= most_named) return;
  ++named_;
  if (!names_.empty()) names_ += ", ";
  names_ += printable_line(path);
}

void NamedFiles::add(const std::string& path, std::uint64_t bytes) {
  const std::uint64_t named = named_;
  add(path);
  bytes_ += bytes;
  if (named_ != named) names_ += ' ' + api::size_in_words(bytes);
}

std::string NamedFiles::text() const {
  if (count_ == named_) return names_;
  const std::string all = bytes_ == 0 ? "" : ", " + api::size_in_words(bytes_) + " in all";
  return names_ + " and " + std::to_string(count_ - named_) + " more" + all;
}

}  // namespace hearth::cli
