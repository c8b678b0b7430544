#include "session/tree_check.h"

#include "blueprint/problem.h"
#include "wire/file_path.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth::session {
namespace {

constexpr std::size_t most_left_out = 100;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UnsafeTree("the workspace is not kept: " + blueprint::in_quotes(path) + " " + why);
}

}  // namespace

bool TreeCheck::admit(const TreeEntry& entry) {
  if (const std::string problem = wire::problem_of_tree_path(entry.path); !problem.empty())
    refuse(entry.path, problem);
  // So no entry can be reached through a link.
  const std::string parent = parent_of(entry.path);
  if (!parent.empty() && !directories_.contains(parent))
    refuse(entry.path, "is in no directory that came before it");
  if (!paths_.insert(entry.path).second) refuse(entry.path, "comes twice");
  if (++entries_ > limits_.max_entries)
    throw SnapshotTooLarge(
        fmt::format("the workspace has more than {} files and directories "
                    "(session.max_snapshot_files)",
                    limits_.max_entries));
  if (entry.kind == TreeKind::other) {
    if (left_out_.size() < most_left_out) left_out_.push_back(entry.path);
    return false;
  }
  if (entry.kind == TreeKind::directory) directories_.insert(entry.path);
  if (entry.kind == TreeKind::symlink &&
      (entry.target.empty() || entry.target.size() >= wire::max_path_bytes ||
       entry.target.find('\0') != std::string::npos))
    refuse(entry.path, "has a target that no link can have");
  file_ = entry.path;
  file_bytes_ = 0;
  file_size_ = entry.kind == TreeKind::file ? entry.size_bytes : 0;
  if (file_size_ > limits_.max_bytes - std::min(total_bytes_, limits_.max_bytes)) count(file_size_);
  return true;
}

void TreeCheck::count(std::size_t bytes) {
  file_bytes_ += bytes;
  total_bytes_ += bytes;
  if (total_bytes_ > limits_.max_bytes)
    throw SnapshotTooLarge(
        fmt::format("the files of the workspace have more than {} MB (session.max_snapshot_mb)",
                    limits_.max_bytes >> 20));
  if (file_bytes_ > file_size_) refuse(file_, "has more bytes than it was said to have");
}

void TreeCheck::finish_file() {
  if (file_bytes_ != file_size_) refuse(file_, "has fewer bytes than it was said to have");
}

Task<std::optional<TreeEntry>> CheckedTree::next() {
  while (std::optional<TreeEntry> entry = co_await tree_.next()) {
    if (!check_.admit(*entry)) continue;
    in_file_ = entry->kind == TreeKind::file;
    co_return entry;
  }
  co_return std::nullopt;
}

Task<std::string> CheckedTree::read() {
  if (!in_file_) co_return std::string();
  std::string bytes = co_await tree_.read();
  check_.count(bytes.size());
  in_file_ = !bytes.empty();
  if (!in_file_) check_.finish_file();
  co_return bytes;
}

}  // namespace hearth::session
