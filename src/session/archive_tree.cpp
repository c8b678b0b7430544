#include "session/archive_tree.h"

#include "async/blocking.h"

#include <utility>

namespace hearth::session {
namespace {

constexpr std::size_t ahead_bytes = 1 << 20;
constexpr std::size_t ahead_pieces = 512;

}  // namespace

ArchiveTree::ArchiveTree(std::unique_ptr<ArchiveReader> archive, asio::thread_pool& threads)
    : archive_(std::move(archive)), threads_(threads) {}

// Bytes that were not read are passed over.
Task<std::optional<TreeEntry>> ArchiveTree::next() {
  while (true) {
    co_await fill();
    if (pieces_.front().is_end) co_return std::nullopt;
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    if (piece.entry) co_return std::move(piece.entry);
  }
}

Task<std::string> ArchiveTree::read() {
  co_await fill();
  Piece& piece = pieces_.front();
  if (piece.entry || piece.is_end) co_return std::string();
  std::string bytes = std::move(piece.bytes);
  pieces_.pop_front();
  co_return bytes;
}

Task<> ArchiveTree::fill() {
  if (!pieces_.empty()) co_return;
  co_await on_thread(threads_, [this](const std::stop_token& /*stop*/) { read_ahead(); });
}

void ArchiveTree::read_ahead() {
  std::size_t bytes = 0;
  while (bytes < ahead_bytes && pieces_.size() < ahead_pieces) {
    if (in_file_) {
      std::string more = archive_->read();
      in_file_ = !more.empty();
      bytes += more.size();
      if (in_file_) pieces_.push_back({.bytes = std::move(more)});
      continue;
    }
    std::optional<TreeEntry> entry = archive_->next();
    const bool is_end = !entry.has_value();
    in_file_ = entry && entry->kind == TreeKind::file;
    pieces_.push_back({.entry = std::move(entry), .is_end = is_end});
    if (is_end) return;
  }
}

Task<std::optional<TreeEntry>> TidyTree::next() {
  while (true) {
    std::optional<TreeEntry> entry = co_await tree_->next();
    if (!entry) co_return std::nullopt;
    std::string& path = entry->path;
    while (path.starts_with("./")) path.erase(0, 2);
    while (path.ends_with('/')) path.pop_back();
    if (!path.empty() && path != ".") co_return entry;
  }
}

}  // namespace hearth::session
