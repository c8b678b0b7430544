// builder/tar_archive.h: a tar in memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct archive;

namespace hearth::builder {

// The same files make the same bytes: owned by root, without a time.
class TarArchive {
 public:
  TarArchive();
  ~TarArchive();
  TarArchive(const TarArchive&) = delete;
  TarArchive& operator=(const TarArchive&) = delete;

  void add_file(const std::string& path, std::string_view content, unsigned mode = 0644);
  void add_directory(const std::string& path);

  // Nothing may be added afterwards.
  std::string finish();

 private:
  void add(const std::string& path, std::string_view content, unsigned type, unsigned mode);
  void check(int result, const std::string& step);

  std::string bytes_;
  archive* archive_;
};

}  // namespace hearth::builder
