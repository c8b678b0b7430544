// files/tree.h: a tree of files as a stream of entries: where it comes from and where it goes. Both
// may block, and throw. A directory comes before what is in it.
#pragma once

#include "wire/file_messages.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace hearth::files {

class TreeSource {
 public:
  virtual ~TreeSource() = default;
  // Nothing at the end. What was not read of a file is passed over.
  virtual std::optional<wire::FileEntry> next() = 0;
  // The next bytes of the file that next() gave; 0 at its end.
  virtual std::size_t read(std::span<char> into) = 0;
};

class TreeSink {
 public:
  virtual ~TreeSink() = default;
  virtual void begin(const wire::FileEntry& entry) = 0;
  // Bytes of the file that began last.
  virtual void data(std::string_view bytes) = 0;
};

}  // namespace hearth::files
