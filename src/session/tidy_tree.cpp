#include "session/tidy_tree.h"

namespace hearth::session {

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
