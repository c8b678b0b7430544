// files/directory_tree.h: a directory as a stream of entries: all that is in it, each directory
// before what it holds. No link is followed, no mount entered, and nothing opened but regular files
// and directories. Its memory does not grow with the tree.
#pragma once

#include "files/directory_walk.h"
#include "files/tree.h"
#include "os/unique_fd.h"
#include "wire/file_messages.h"

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hearth::files {

// Files and directories closed to their owner, the user of this process, by their modes.
enum class ClosedFiles { are_errors, are_opened };

// All throw FileFailure: `changed` for what changes while it is read, `too_large` for a path of
// more than wire::max_path_bytes.
class DirectoryTree : public TreeSource {
 public:
  // `top` is open for reading. What is opened although it was closed is closed again.
  DirectoryTree(os::UniqueFd top, ClosedFiles closed);
  ~DirectoryTree() override;
  DirectoryTree(const DirectoryTree&) = delete;
  DirectoryTree& operator=(const DirectoryTree&) = delete;

  // The next entry, with a path below the top; nothing at the end. Special files and mounts are
  // `other`. What vanishes meanwhile is passed over, and so is what was not read of a file.
  std::optional<wire::FileEntry> next() override;
  // The next bytes of the file that next() gave; 0 at its end.
  std::size_t read(std::span<char> into) override;

 private:
  std::optional<wire::FileEntry> look_at(const char* name);
  bool open_file(const char* name, struct stat& status);
  bool enter(const char* name, struct stat& status);
  void leave();
  void finish_file();

  DirectoryWalk walk_;
  ClosedFiles closed_;
  // For each directory from below the top to the open one: the mode that it gets back.
  std::vector<std::optional<mode_t>> closed_modes_;
  os::UniqueFd file_;
  struct stat as_opened_{};
  std::uint64_t left_ = 0;  // of it
  std::string file_path_;
};

}  // namespace hearth::files
