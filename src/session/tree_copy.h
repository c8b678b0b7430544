// session/tree_copy.h: brings entries from the loop to a thread that writes or hashes them, many at
// a time: each change of threads costs as much as a small file.
#pragma once

#include "async/task.h"
#include "session/tree.h"
#include "session/tree_check.h"

#include <boost/asio/thread_pool.hpp>

#include <string_view>

namespace hearth::session {

// In a thread; it may block and throw.
class TreeSink {
 public:
  virtual ~TreeSink() = default;
  virtual void begin(const TreeEntry& entry) = 0;
  virtual void data(std::string_view bytes) = 0;
};

// All that `check` admits. What is referred to must outlive the task.
Task<> copy_tree(TreeReader& from, TreeSink& into, TreeCheck& check, asio::thread_pool& threads);

}  // namespace hearth::session
