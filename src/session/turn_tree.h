// session/turn_tree.h: a workspace out of a sandbox and into it, by turns of Hearth's own script.
// They run as every script does, with the sandbox's rights; what they say is no more trusted than
// what any script says, and tree_check.h judges it. A turn moves a few megabytes, so no more than
// that is held at once.
#pragma once

#include "execution/script_executor.h"
#include "session/tree.h"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::session {

class TurnTree : public TreeReader {
 public:
  // `sandbox` must outlive it. While it is read no other turn may run.
  explicit TurnTree(backend::Sandbox& sandbox) : executor_(sandbox) {}
  Task<std::optional<TreeEntry>> next() override;
  Task<std::string> read() override;

 private:
  struct Piece {
    std::optional<TreeEntry> entry{};
    std::string bytes{};
  };
  Task<> fill();
  void take_line(std::string_view line);
  void take_entry(const boost::json::object& object);

  execution::ScriptExecutor executor_;
  std::deque<Piece> pieces_;
  std::uint64_t entry_ = 0;   // where the next turn goes on
  std::uint64_t offset_ = 0;  // in that file
  bool is_over_ = false;
};

// Into an empty workspace. What is referred to must outlive the task.
Task<> write_by_turns(backend::Sandbox& sandbox, TreeReader& tree);

}  // namespace hearth::session
