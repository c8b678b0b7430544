// session/archive_tree.h: an archive as a tree, read ahead in a thread, as much at a time as is
// worth the change of threads.
#pragma once

#include "async/task.h"
#include "session/archive.h"
#include "session/tree.h"

#include <boost/asio/thread_pool.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace hearth::session {

class ArchiveTree : public TreeReader {
 public:
  // `threads` must outlive it.
  ArchiveTree(std::unique_ptr<ArchiveReader> archive, asio::thread_pool& threads);
  Task<std::optional<TreeEntry>> next() override;
  Task<std::string> read() override;

 private:
  struct Piece {
    std::optional<TreeEntry> entry{};
    std::string bytes{};
    bool is_end = false;
  };
  Task<> fill();
  void read_ahead();

  std::unique_ptr<ArchiveReader> archive_;
  asio::thread_pool& threads_;
  std::deque<Piece> pieces_;
  bool in_file_ = false;
};

// Paths as tar programs write them, in their shortest form: "./a", "a/", and "./" itself.
class TidyTree : public TreeReader {
 public:
  explicit TidyTree(std::unique_ptr<TreeReader> tree) : tree_(std::move(tree)) {}
  Task<std::optional<TreeEntry>> next() override;
  Task<std::string> read() override { return tree_->read(); }

 private:
  std::unique_ptr<TreeReader> tree_;
};

}  // namespace hearth::session
