// files/tree_writer.h: writes the entries of a tree into a directory, whatever they say: each is
// reached from descriptor to descriptor, no link is followed at any component, and nothing appears
// outside of the directory. Set-uid bits are dropped, special files never made.
#pragma once

#include "files/file_failure.h"
#include "files/tree.h"
#include "os/unique_fd.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::files {

// Whose entries they are, and whose directory.
enum class TreeRules {
  // Of Hearth for a sandbox: modes are exact, links are made as they are, and an entry that cannot
  // be made is an error.
  into_sandbox,
  // Of a sandbox for its user. The umask holds, and the user can go into every directory. Links
  // that could lead out of the tree, special files and names that are taken are left out.
  onto_host,
  // The same, but files and links that have an entry's name give way to it.
  onto_host_replacing,
};

struct LeftOut {
  std::string path;
  std::string why;  // as in "it is a link that could lead out of the directory"
};

// All throw FileFailure. What was written before stays, but for a file that was not finished.
class TreeWriter : public TreeSink {
 public:
  // `top` is open for reading.
  TreeWriter(os::UniqueFd top, TreeRules rules);
  ~TreeWriter() override;
  TreeWriter(const TreeWriter&) = delete;
  TreeWriter& operator=(const TreeWriter&) = delete;

  void begin(const wire::FileEntry& entry) override;
  void data(std::string_view bytes) override;
  // After the last entry: directories get their times. `changed` if a file is not whole.
  void finish();

  // The first hundred of those that were left out, and how many they were.
  const std::vector<LeftOut>& left_out() const { return left_out_; }
  std::uint64_t left_out_count() const { return left_out_count_; }
  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Level {                 // a directory that is open, or above the one that is
    std::size_t path_bytes = 0;  // of its parent's path
    dev_t parent_device = 0;
    ino_t parent_inode = 0;
    std::optional<wire::FileEntry> entry = {};  // what it gets at the end
  };

  void go_to_parent_of(const std::string& path);
  void enter(const std::string& name);
  void leave();
  void make(const wire::FileEntry& entry, const std::string& name);
  void make_directory(const wire::FileEntry& entry, const std::string& name);
  void make_file(const wire::FileEntry& entry, const std::string& name);
  void make_link(const wire::FileEntry& entry, const std::string& name);
  bool make_room(const std::string& name) const;
  void finish_file();
  void leave_out(const std::string& path, const std::string& why);

  TreeRules rules_;
  os::UniqueFd directory_;  // the one that is open
  std::string path_;        // of it, from the top
  std::vector<Level> levels_;

  os::UniqueFd file_;
  std::string file_name_;
  wire::FileEntry file_entry_;
  std::uint64_t left_ = 0;  // of its bytes, also of one that is left out

  std::vector<LeftOut> left_out_;
  std::uint64_t left_out_count_ = 0;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace hearth::files
