#include "session/tree_copy.h"

#include "async/blocking.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::session {
namespace {

constexpr std::size_t batch_bytes = 1 << 20;
constexpr std::size_t batch_pieces = 512;

// An entry, or bytes of the last one.
struct Piece {
  std::optional<TreeEntry> entry{};
  std::string bytes{};
};

class Batch {
 public:
  Batch(TreeSink& into, asio::thread_pool& threads) : into_(into), threads_(threads) {}

  void add(Piece piece) {
    bytes_ += piece.bytes.size();
    pieces_.push_back(std::move(piece));
  }
  bool is_full() const { return bytes_ >= batch_bytes || pieces_.size() >= batch_pieces; }

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
  TreeSink& into_;
  asio::thread_pool& threads_;
  std::vector<Piece> pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace

Task<> copy_tree(TreeReader& from, TreeSink& into, TreeCheck& check, asio::thread_pool& threads) {
  Batch batch(into, threads);
  while (std::optional<TreeEntry> entry = co_await from.next()) {
    if (!check.admit(*entry)) continue;
    const bool is_file = entry->kind == TreeKind::file;
    batch.add({.entry = *std::move(entry)});
    if (batch.is_full()) co_await batch.flush();
    if (!is_file) continue;
    while (true) {
      std::string bytes = co_await from.read();
      if (bytes.empty()) break;
      check.count(bytes.size());
      batch.add({.bytes = std::move(bytes)});
      if (batch.is_full()) co_await batch.flush();
    }
    check.finish_file();
  }
  co_await batch.flush();
}

}  // namespace hearth::session
