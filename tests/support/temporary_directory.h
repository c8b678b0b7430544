// tests/support/temporary_directory.h: a directory that is gone with its owner.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace hearth::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(std::filesystem::temp_directory_path() /
              ("hearth-test-" + std::to_string(std::random_device()()) +
               std::to_string(std::random_device()()))) {
    std::filesystem::create_directories(path_);
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
