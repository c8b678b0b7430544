#include "session/tree_check.h"

#include "blueprint/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace hearth::session {
namespace {

constexpr std::size_t most_path_bytes = 4095;
constexpr std::size_t most_name_bytes = 255;
constexpr std::size_t most_left_out = 100;

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UnsafeTree("the workspace is not kept: " + blueprint::in_quotes(path) + " " + why);
}

}  // namespace

std::string problem_of_tree_path(const std::string& path) {
  if (path.empty() || path.size() > most_path_bytes) return "is empty or too long";
  if (path.find('\0') != std::string::npos) return "holds a NUL byte";
  if (path.front() == '/') return "is absolute";
  for (const std::string_view part : parts_of(path)) {
    if (part == "..") return "leaves the workspace";
    if (part.empty() || part == ".") return "is not in its shortest form";
    if (part.size() > most_name_bytes) return "has too long a name in it";
  }
  return {};
}

bool TreeCheck::admit(const TreeEntry& entry) {
  if (const std::string problem = problem_of_tree_path(entry.path); !problem.empty())
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
      (entry.target.empty() || entry.target.size() > most_path_bytes ||
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

bool leads_out(const TreeEntry& link) {
  if (link.target.starts_with('/')) return true;
  std::size_t depth = parts_of(link.path).size() - 1;
  bool went_down = false;
  for (const std::string_view part : parts_of(link.target)) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      went_down = true;
    } else if (went_down || depth == 0) {
      return true;  // what was gone down into may be a link itself
    } else {
      --depth;
    }
  }
  return false;
}

}  // namespace hearth::session
