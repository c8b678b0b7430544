// session/tidy_tree.h: a tree with paths as tar programs write them ("./a", "a/", and "./" itself),
// in their shortest form.
#pragma once

#include "async/task.h"
#include "session/tree.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace hearth::session {

class TidyTree : public TreeReader {
 public:
  explicit TidyTree(std::unique_ptr<TreeReader> tree) : tree_(std::move(tree)) {}
  Task<std::optional<TreeEntry>> next() override;
  Task<std::string> read() override { return tree_->read(); }

 private:
  std::unique_ptr<TreeReader> tree_;
};

}  // namespace hearth::session
