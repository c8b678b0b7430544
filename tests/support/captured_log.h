// tests/support/captured_log.h: what is logged while it lives.
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "os/unique_fd.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>

namespace hearth::test {

class CapturedLog {
 public:
  CapturedLog() : stderr_(::dup(STDERR_FILENO)), file_(::memfd_create("log", MFD_CLOEXEC)) {
    if (!stderr_ || !file_ || ::dup2(file_.get(), STDERR_FILENO) < 0)
      throw OsError("capture a log");
    log::configure(log::Level::info, log::Format::text);
  }
  ~CapturedLog() {
    log::configure(log::Level::warning, log::Format::text);
    ::dup2(stderr_.get(), STDERR_FILENO);
  }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  // So far.
  std::string text() const {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
      const ssize_t count =
          ::pread(file_.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
      if (count <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
  bool has(const std::string& line) const { return text().find(line) != std::string::npos; }

 private:
  os::UniqueFd stderr_;
  os::UniqueFd file_;
};

}  // namespace hearth::test
