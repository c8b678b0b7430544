// init/file_reading.h: a file, or a part of it, for the host.
#pragma once

#include "init/file_work.h"
#include "os/unique_fd.h"
#include "wire/messages.h"

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace hearth::init {

class FileReading : public FileWork {
 public:
  // Answers with the entry. Throws FileFailure.
  FileReading(StreamPort& port, const std::string& root, const wire::ReadFile& call);
  bool is_ready() const override { return at_ == end_ || port().room() > 0; }

 protected:
  void work() override;

 private:
  void finish_unchanged();

  os::UniqueFd file_;
  struct stat as_opened_{};
  std::uint64_t at_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace hearth::init
