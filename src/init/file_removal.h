// init/file_removal.h: removes a file, or a directory with all that is in it.
#pragma once

#include "init/file_place.h"
#include "init/file_work.h"
#include "init/wipe.h"
#include "wire/messages.h"

#include <optional>
#include <string>

namespace hearth::init {

class FileRemoval : public FileWork {
 public:
  // Removes what one call removes. Throws FileFailure.
  FileRemoval(StreamPort& port, const std::string& root, const wire::RemoveFile& call);
  bool is_ready() const override { return true; }

 protected:
  void work() override;

 private:
  FilePlace place_;
  std::optional<TreeWiper> tree_;  // what is left
};

}  // namespace hearth::init
