// init/tree_writing.h: a tree from the host, entry by entry into a directory.
#pragma once

#include "files/tree_writer.h"
#include "init/file_work.h"
#include "wire/messages.h"
#include "wire/tree_stream.h"

#include <string>
#include <string_view>

namespace hearth::init {

class TreeWriting : public FileWork {
 public:
  // Throws FileFailure.
  TreeWriting(StreamPort& port, const std::string& root, const wire::WriteTree& call);
  bool is_ready() const override { return has_more_ || has_ended_; }

 protected:
  // What has come waits for the next slices; the window bounds it.
  void write(std::string_view bytes) override;
  void finish() override { has_ended_ = true; }
  void work() override;

 private:
  wire::TreeStreamReader stream_;
  files::TreeWriter tree_;
  std::size_t waiting_ = 0;  // bytes in `stream_` that the host does not know to be written
  bool has_more_ = false;
  bool has_ended_ = false;
};

}  // namespace hearth::init
