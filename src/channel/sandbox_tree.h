// channel/sandbox_tree.h: a tree out of a sandbox, and one into it, each as one data stream.
#pragma once

#include "channel/data_stream.h"
#include "channel/sandbox_files.h"
#include "channel/tree.h"
#include "wire/tree_stream.h"

#include <memory>
#include <optional>
#include <string>

namespace hearth {

// What is not read waits in the sandbox. Each entry keeps to wire::problem_of_tree_path() and to
// the limits; whatever else a sandbox may say is for the reader to judge.
class SandboxTree : public TreeReader {
 public:
  // The request is answered with its directory.
  SandboxTree(std::unique_ptr<DataStream> stream, TreeLimits limits);
  Task<std::optional<wire::FileEntry>> next() override;
  Task<std::string> read() override;

 private:
  Task<> fill();
  void check(wire::FileEntry& entry);

  std::unique_ptr<DataStream> stream_;
  TreeLimits limits_;  // what is left of them
  wire::TreeStreamReader pieces_;
  std::optional<wire::TreeStreamReader::Piece> piece_;
  bool is_over_ = false;
};

// On a stream whose request asks for it. `tree` must outlive the task.
Task<> send_tree(DataStream& stream, TreeReader& tree);

}  // namespace hearth
