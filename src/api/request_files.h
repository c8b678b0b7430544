// api/request_files.h: the files of a request: those that are written before its start, and those
// that its result tells of.
#pragma once

#include "api/problem.h"
#include "async/task.h"
#include "channel/sandbox_files.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::api {

struct NewFile {
  std::string content{};
  std::optional<std::uint32_t> mode{};
  bool operator==(const NewFile&) const = default;
};
// By their paths.
using NewFiles = std::map<std::string, NewFile>;

// Of a result; the contents only of files that were asked for.
struct FoundFile {
  std::string path{};  // any bytes
  std::uint64_t size_bytes = 0;
  std::optional<std::string> content{};
};
struct FoundFiles {
  std::vector<FoundFile> files{};
  std::uint64_t omitted = 0;  // more than a result names
};

inline constexpr std::size_t most_named_files = 100;
inline constexpr std::uint64_t usual_max_return_bytes = std::uint64_t{4} << 20;

// `files` must outlive the task. RequestRefused names the file that cannot be written.
Task<> write_files(SandboxFiles sandbox, const NewFiles& files);

// Whether a path in /workspace is one of the caches that programs keep in their user's home.
bool is_cache(std::string_view path);

// All files in /workspace, by their paths. Of more than 20,000 names, the first ones.
Task<std::vector<wire::FileEntry>> all_files(SandboxFiles sandbox);
// The same as a result names them: without their contents, and without caches.
Task<FoundFiles> files_left(SandboxFiles sandbox);

// The files in /workspace that match one of `patterns`, with their contents as far as they fit into
// `max_bytes`. A pattern names a path from there on; * and ? stand for anything but a slash.
Task<FoundFiles> files_matching(SandboxFiles sandbox, std::vector<std::string> patterns,
                                std::uint64_t max_bytes = usual_max_return_bytes);

}  // namespace hearth::api
