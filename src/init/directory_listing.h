// init/directory_listing.h: what is in a directory, page by page, in the order of the file system.
#pragma once

#include "files/directory_walk.h"
#include "init/file_work.h"
#include "wire/messages.h"

#include <dirent.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::init {

// `*` and `?` match within a component. Without a slash the pattern is matched with the last
// component of `path`, otherwise with all of it. An empty pattern matches everything.
bool matches(std::string_view pattern, std::string_view path);

// Each page begins where the cursor says, so nothing is kept between two pages.
class DirectoryListing : public FileWork {
 public:
  // Throws FileFailure.
  DirectoryListing(StreamPort& port, const std::string& root, const wire::ListFiles& call);
  bool is_ready() const override { return true; }

 protected:
  void work() override;

 private:
  void begin_at_cursor();
  void take_entry(const dirent& entry);
  bool enter(const char* name);
  void end_page(bool is_last);
  std::string cursor() const;

  wire::ListFiles call_;
  files::DirectoryWalk walk_;
  wire::FileEntries page_;
  std::size_t page_bytes_ = 0;
};

}  // namespace hearth::init
