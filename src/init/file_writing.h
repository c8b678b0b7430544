// init/file_writing.h: a file from the host, whole or not at all: it is written under another name
// in its directory, which it loses at its end.
#pragma once

#include "init/file_place.h"
#include "init/file_work.h"
#include "os/unique_fd.h"
#include "wire/messages.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::init {

class FileWriting : public FileWork {
 public:
  // Throws FileFailure.
  FileWriting(StreamPort& port, const std::string& root, const wire::WriteFile& call);
  // Removes a file that was not finished.
  ~FileWriting() override;

 protected:
  void write(std::string_view bytes) override;
  void finish() override;

 private:
  void create();

  std::string path_;
  FilePlace place_;
  std::uint32_t mode_ = 0644;
  os::UniqueFd file_;
  std::string temporary_name_;  // empty when it is gone
};

}  // namespace hearth::init
