// init/directory_listing.h: what is in a directory, page by page, in the order of the file system.
#pragma once

#include "init/file_work.h"
#include "os/unique_fd.h"
#include "wire/messages.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::init {

// `*` and `?` match within a component. Without a slash the pattern is matched with the last
// component of `path`, otherwise with all of it. An empty pattern matches everything.
bool matches(std::string_view pattern, std::string_view path);

// It holds one directory open, however deep the tree is, and goes up by "..": a directory that was
// moved meanwhile is not taken for its old parent. Each page begins where the cursor says, so
// nothing is kept between two pages.
class DirectoryListing : public FileWork {
 public:
  // Throws FileFailure.
  DirectoryListing(StreamPort& port, const std::string& root, const wire::ListFiles& call);
  bool is_ready() const override { return true; }

 protected:
  void work() override;

 private:
  using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;
  struct Level {  // above the open directory
    dev_t device;
    ino_t inode;
    off_t position;          // where its listing goes on
    std::size_t path_bytes;  // of its own part of path_
  };

  void begin_at_cursor();
  void take_entry(const dirent& entry);
  bool enter(const char* name);
  void leave();
  void end_page(bool is_last);
  std::string cursor() const;

  wire::ListFiles call_;
  Directory directory_{nullptr, ::closedir};
  std::string path_;  // of the open directory, as seen from the listed one
  std::vector<Level> above_;
  wire::FileEntries page_;
  std::size_t page_bytes_ = 0;
};

}  // namespace hearth::init
