// tests/support/temporary_directory.h: a directory that is gone with its owner.
#pragma once

#include "base/error.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace hearth::test {

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = parent / "hearth-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw OsError("create " + name);
    path_ = name;
    // What is mounted keeps its permissions, and the users of sandboxes read it.
    if (::chmod(name.c_str(), 0755) != 0) throw OsError("change the mode of " + name);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name) << content;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hearth::test
