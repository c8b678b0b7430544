// session/tree_check.h: what a sandbox says of its workspace is not trusted: only trees that can be
// written and read back without touching anything else pass.
#pragma once

#include "base/error.h"
#include "session/tree.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hearth::session {

struct SnapshotLimits {
  std::uint64_t max_bytes = std::uint64_t{1024} << 20;  // of all files together, unpacked
  std::uint64_t max_entries = 100'000;
};

// A path that leaves the workspace, a file that is not as long as it was said to be: the sandbox is
// not what it should be, and nothing of the tree is kept.
struct UnsafeTree : Error {
  using Error::Error;
};
struct SnapshotTooLarge : Error {
  using Error::Error;
};

class TreeCheck {
 public:
  explicit TreeCheck(SnapshotLimits limits) : limits_(limits) {}

  // False: it is left out (a socket, a FIFO, a device). Throws UnsafeTree, SnapshotTooLarge.
  bool admit(const TreeEntry& entry);
  // Bytes of the file that was admitted last.
  void count(std::size_t bytes);
  // After the last byte of a file, if it was one.
  void finish_file();

  // The first of those that were left out.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  SnapshotLimits limits_;
  std::set<std::string> directories_;
  std::set<std::string> paths_;
  std::uint64_t entries_ = 0;
  std::uint64_t total_bytes_ = 0;
  std::string file_{};
  std::uint64_t file_bytes_ = 0;
  std::uint64_t file_size_ = 0;
  std::vector<std::string> left_out_;
};

// What `check` admits of a tree. Both must outlive it.
class CheckedTree : public TreeReader {
 public:
  CheckedTree(TreeReader& tree, TreeCheck& check) : tree_(tree), check_(check) {}
  Task<std::optional<TreeEntry>> next() override;
  Task<std::string> read() override;

 private:
  TreeReader& tree_;
  TreeCheck& check_;
  bool in_file_ = false;
};

}  // namespace hearth::session
