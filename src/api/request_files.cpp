#include "api/request_files.h"

#include "blueprint/problem.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

namespace hearth::api {
namespace {

using wire::FileEntry;
using wire::FileKind;
using wire::FileProblem;

// Names beyond that many are not even counted: a script can make millions.
constexpr std::size_t most_listed = 20'000;
constexpr std::uint32_t any_depth = 1'000'000;

ProblemCode code_of(FileProblem problem) {
  switch (problem) {
    case FileProblem::no_space:
      return ProblemCode::no_space;
    case FileProblem::changed:
    case FileProblem::busy:
    case FileProblem::failed:
      return ProblemCode::internal;
    default:
      return ProblemCode::invalid_request;
  }
}

Task<std::vector<FileEntry>> listed_files(SandboxFiles sandbox, wire::ListFiles call) {
  std::vector<FileEntry> found;
  std::size_t listed = 0;
  do {
    wire::FileEntries page = co_await sandbox.list(call);
    listed += page.entries.size();
    for (FileEntry& entry : page.entries)
      if (entry.kind == FileKind::file) found.push_back(std::move(entry));
    call.cursor = std::move(page.cursor);
  } while (!call.cursor.empty() && listed < most_listed);
  std::sort(found.begin(), found.end(),
            [](const FileEntry& one, const FileEntry& other) { return one.path < other.path; });
  co_return found;
}

FoundFiles first_of(std::vector<FileEntry> entries) {
  FoundFiles found;
  found.omitted = entries.size() - std::min(entries.size(), most_named_files);
  entries.resize(std::min(entries.size(), most_named_files));
  for (FileEntry& entry : entries) found.files.push_back({std::move(entry.path), entry.size_bytes});
  return found;
}

// Nothing if it is gone by now, or larger than it was.
Task<std::optional<std::string>> content_of(SandboxFiles sandbox, const FoundFile& file) {
  try {
    co_return co_await sandbox.read(file.path, file.size_bytes);
  } catch (const FileError&) {
    co_return std::nullopt;
  }
}

wire::ListFiles call_for(const std::string& pattern) {
  const auto slashes = std::count(pattern.begin(), pattern.end(), '/');
  return {.path = ".", .depth = static_cast<std::uint32_t>(slashes) + 1, .glob = pattern};
}

}  // namespace

Task<> write_files(SandboxFiles sandbox, const NewFiles& files) {
  for (const auto& [path, file] : files) {
    try {
      co_await sandbox.write(path, file.content, file.mode);
    } catch (const FileError& error) {
      const std::string field = blueprint::member_of("files", path);
      throw RequestRefused(
          {code_of(error.problem), field + ": " + error.what(), {}, {{field, error.what()}}});
    }
  }
}

Task<std::vector<FileEntry>> all_files(SandboxFiles sandbox) {
  wire::ListFiles call{.path = ".", .depth = any_depth};
  co_return co_await listed_files(sandbox, std::move(call));
}

bool is_cache(std::string_view path) { return path == ".cache" || path.starts_with(".cache/"); }

Task<FoundFiles> files_left(SandboxFiles sandbox) {
  std::vector<FileEntry> files = co_await all_files(sandbox);
  std::erase_if(files, [](const FileEntry& file) { return is_cache(file.path); });
  co_return first_of(std::move(files));
}

Task<FoundFiles> files_matching(SandboxFiles sandbox, std::vector<std::string> patterns,
                                std::uint64_t max_bytes) {
  std::vector<FileEntry> matching;
  std::set<std::string> known;
  for (const std::string& pattern : patterns)
    for (FileEntry& entry : co_await listed_files(sandbox, call_for(pattern)))
      if (known.insert(entry.path).second) matching.push_back(std::move(entry));
  FoundFiles found = first_of(std::move(matching));
  for (FoundFile& file : found.files) {
    if (file.size_bytes > max_bytes) continue;
    file.content = co_await content_of(sandbox, file);
    if (file.content) max_bytes -= file.content->size();
  }
  co_return found;
}

}  // namespace hearth::api
