// init/tree_reading.h: a directory with all that is in it, for the host.
#pragma once

#include "files/directory_tree.h"
#include "init/file_work.h"
#include "wire/messages.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace hearth::init {

class TreeReading : public FileWork {
 public:
  // Answers with the entry of the directory. Throws FileFailure.
  TreeReading(StreamPort& port, const std::string& root, const wire::ReadTree& call);
  bool is_ready() const override { return port().room() > 0; }

 protected:
  void work() override;

 private:
  void gather();
  void read_more();
  void add(wire::FileEntry entry);

  wire::ReadTree call_;  // the limits count down
  files::DirectoryTree tree_;
  std::string gathered_;         // at most a frame's bytes and an entry
  std::size_t sent_ = 0;         // of it
  std::uint64_t file_left_ = 0;  // of the file that is being read
  bool is_over_ = false;
};

}  // namespace hearth::init
