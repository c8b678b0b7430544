// builder/manifest.h: the file that makes a directory an environment. Written last, so where there
// is one, everything else is there too.
#pragma once

#include "builder/find_python.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::builder {

// A file as it was when it was looked at: as long as this is the same, so is its content.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::int64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Nothing when there is no such file.
std::optional<FileIdentity> identity_of(const std::filesystem::path& file);

struct Manifest {
  std::string checksum{};
  Python python{};
  FileIdentity python_file{};
  std::vector<std::string> packages{};  // requirements, for people
  bool operator==(const Manifest&) const = default;
};

std::string print_manifest(const Manifest& manifest);

// Nothing when it is none of ours.
std::optional<Manifest> parse_manifest(std::string_view text);

}  // namespace hearth::builder
