// session/tree.h: a workspace on its way between a sandbox and a snapshot, as a stream of entries.
#pragma once

#include "async/task.h"
#include "base/enum_names.h"

#include <cstdint>
#include <optional>
#include <string>

namespace hearth::session {

enum class TreeKind { file, directory, symlink, other };
constexpr auto names_of(TreeKind /*type*/) {
  return enum_names<TreeKind>({{TreeKind::file, "file"},
                               {TreeKind::directory, "directory"},
                               {TreeKind::symlink, "symlink"},
                               {TreeKind::other, "other"}});
}

struct TreeEntry {
  std::string path{};  // relative to the workspace; any bytes but NUL
  TreeKind kind = TreeKind::file;
  std::uint64_t size_bytes = 0;  // of a file
  std::uint32_t mode = 0644;     // permissions
  std::int64_t modified_ns = 0;  // since 1970
  std::string target{};          // of a symlink
  bool operator==(const TreeEntry&) const = default;
};

// Where entries come from. A directory comes before what is in it.
class TreeReader {
 public:
  virtual ~TreeReader() = default;
  // Nothing at the end.
  virtual Task<std::optional<TreeEntry>> next() = 0;
  // The next bytes of the file that next() gave; empty at its end.
  virtual Task<std::string> read() = 0;
};

}  // namespace hearth::session
