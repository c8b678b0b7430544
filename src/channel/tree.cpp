#include "channel/tree.h"

#include "async/blocking.h"

#include <utility>
#include <vector>

namespace hearth {
namespace {

constexpr std::size_t batch_bytes = 1 << 20;
constexpr std::size_t batch_pieces = 512;
constexpr std::size_t piece_bytes = 256 << 10;

// An entry, or bytes of the last one.
struct Piece {
  std::optional<wire::FileEntry> entry{};
  std::string bytes{};
};

class Batch {
 public:
  Batch(files::TreeSink& into, asio::thread_pool& threads) : into_(into), threads_(threads) {}

  Task<> add(Piece piece) {
    bytes_ += piece.bytes.size();
    pieces_.push_back(std::move(piece));
    if (bytes_ >= batch_bytes || pieces_.size() >= batch_pieces) co_await flush();
  }

  Task<> flush() {
    bytes_ = 0;
    const std::vector<Piece> pieces = std::exchange(pieces_, {});
    co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
      for (const Piece& piece : pieces) {
        if (piece.entry) into_.begin(*piece.entry);
        if (!piece.bytes.empty()) into_.data(piece.bytes);
      }
    });
  }

 private:
  files::TreeSink& into_;
  asio::thread_pool& threads_;
  std::vector<Piece> pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace

Task<> copy_tree(TreeReader& from, files::TreeSink& into, asio::thread_pool& threads) {
  Batch batch(into, threads);
  while (std::optional<wire::FileEntry> entry = co_await from.next()) {
    const bool is_file = entry->kind == wire::FileKind::file;
    co_await batch.add({.entry = *std::move(entry)});
    if (!is_file) continue;
    for (std::string bytes = co_await from.read(); !bytes.empty(); bytes = co_await from.read())
      co_await batch.add({.bytes = std::move(bytes)});
  }
  co_await batch.flush();
}

ReadAheadTree::ReadAheadTree(std::unique_ptr<files::TreeSource> source, asio::thread_pool& threads)
    : source_(std::move(source)), threads_(threads) {}

Task<std::optional<wire::FileEntry>> ReadAheadTree::next() {
  while (true) {
    co_await fill();
    if (pieces_.front().is_end) co_return std::nullopt;
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    if (piece.entry) co_return std::move(piece.entry);
  }
}

Task<std::string> ReadAheadTree::read() {
  co_await fill();
  Piece& piece = pieces_.front();
  if (piece.entry || piece.is_end) co_return std::string();
  std::string bytes = std::move(piece.bytes);
  pieces_.pop_front();
  co_return bytes;
}

Task<> ReadAheadTree::fill() {
  if (!pieces_.empty()) co_return;
  co_await on_thread(threads_, [this](const std::stop_token& /*stop*/) { read_ahead(); });
}

void ReadAheadTree::read_ahead() {
  std::size_t bytes = 0;
  while (bytes < batch_bytes && pieces_.size() < batch_pieces) {
    if (in_file_) {
      std::string more(piece_bytes, '\0');
      more.resize(source_->read(more));
      in_file_ = !more.empty();
      bytes += more.size();
      if (in_file_) pieces_.push_back({.bytes = std::move(more)});
      continue;
    }
    std::optional<wire::FileEntry> entry = source_->next();
    const bool is_end = !entry.has_value();
    in_file_ = entry && entry->kind == wire::FileKind::file && entry->size_bytes > 0;
    pieces_.push_back({.entry = std::move(entry), .is_end = is_end});
    if (is_end) return;
  }
}

}  // namespace hearth
