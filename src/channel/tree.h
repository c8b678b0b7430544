// channel/tree.h: a tree of files on the loop, as a stream of entries, and how it passes between
// the loop and threads that may block.
#pragma once

#include "async/task.h"
#include "files/tree.h"
#include "wire/file_messages.h"

#include <boost/asio/thread_pool.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace hearth {

// Where entries come from. A directory comes before what is in it.
class TreeReader {
 public:
  virtual ~TreeReader() = default;
  // Nothing at the end. What was not read of a file is passed over.
  virtual Task<std::optional<wire::FileEntry>> next() = 0;
  // The next bytes of the file that next() gave; empty at its end.
  virtual Task<std::string> read() = 0;
};

// What a thread reads, as much ahead as is worth the change of threads.
class ReadAheadTree : public TreeReader {
 public:
  // `threads` must outlive it.
  ReadAheadTree(std::unique_ptr<files::TreeSource> source, asio::thread_pool& threads);
  Task<std::optional<wire::FileEntry>> next() override;
  Task<std::string> read() override;

 private:
  struct Piece {
    std::optional<wire::FileEntry> entry{};
    std::string bytes{};
    bool is_end = false;
  };
  Task<> fill();
  void read_ahead();

  std::unique_ptr<files::TreeSource> source_;
  asio::thread_pool& threads_;
  std::deque<Piece> pieces_;
  bool in_file_ = false;
};

// All of it, by a thread, many entries at a time: each change of threads costs as much as a small
// file. What is referred to must outlive the task.
Task<> copy_tree(TreeReader& from, files::TreeSink& into, asio::thread_pool& threads);

}  // namespace hearth
