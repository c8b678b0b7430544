// wire/file_messages.h: what the host asks of files in a sandbox, and the answers. Each request
// names a stream of its own: answers and data of the request carry its id. The last answer is
// FileDone or FileFailed; the stream is over with it.
//
// Paths are relative to /workspace or absolute, see wire/file_path.h, and any bytes but NUL.
#pragma once

#include "base/enum_names.h"
#include "wire/stream_messages.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hearth::wire {

// ---- host to sandbox ----

// Answered by a FileEntry, then the bytes.
struct ReadFile {
  std::string path;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length = {};  // absent: up to the end of the file
  bool operator==(const ReadFile&) const = default;
};

// The bytes follow on the stream, up to its End. Answered by the FileEntry of what was written.
struct WriteFile {
  std::string path;
  std::optional<std::uint32_t> mode = {};  // absent: that of the file in its place, or 0644
  bool operator==(const WriteFile&) const = default;
};

// Answered by the FileEntry of what is there, a link included.
struct StatFile {
  std::string path;
  bool operator==(const StatFile&) const = default;
};

inline constexpr std::uint32_t max_listed_entries = 1000;

// Answered by one page, FileEntries.
struct ListFiles {
  std::string path;
  std::uint32_t depth = 1;                   // 1: what is in the directory itself
  std::string glob = {};                     // empty: everything
  std::uint32_t limit = max_listed_entries;  // of the page
  std::string cursor = {};                   // of the page before; empty: from the beginning
  bool operator==(const ListFiles&) const = default;
};

struct MakeDirectory {
  std::string path;
  bool operator==(const MakeDirectory&) const = default;
};

struct MoveFile {
  std::string from;
  std::string to;
  bool operator==(const MoveFile&) const = default;
};

struct SetMode {
  std::string path;
  std::uint32_t mode = 0644;
  bool operator==(const SetMode&) const = default;
};

struct RemoveFile {
  std::string path;
  bool recursive = false;
  bool operator==(const RemoveFile&) const = default;
};

// Answered by the FileEntry of the directory, then its tree as in wire/tree_stream.h.
struct ReadTree {
  std::string path;
  std::uint64_t max_entries = 0;
  std::uint64_t max_bytes = 0;  // of all files together
  bool operator==(const ReadTree&) const = default;
};

// The tree follows on the stream, up to its End. Its entries are written as they come.
struct WriteTree {
  std::string path;  // of a directory; it is made if nothing is there
  bool operator==(const WriteTree&) const = default;
};

using FileCall = std::variant<ReadFile, WriteFile, StatFile, ListFiles, MakeDirectory, MoveFile,
                              SetMode, RemoveFile, ReadTree, WriteTree>;

struct FileRequest {
  StreamId stream = 0;
  FileCall call;
  bool operator==(const FileRequest&) const = default;
};

std::string_view type_of(const FileCall& call);

// ---- sandbox to host ----

enum class FileKind { file, directory, symlink, other };
constexpr auto names_of(FileKind /*type*/) {
  return enum_names<FileKind>({{FileKind::file, "file"},
                               {FileKind::directory, "directory"},
                               {FileKind::symlink, "symlink"},
                               {FileKind::other, "other"}});
}

struct FileEntry {
  std::string path;  // as in the request; of a listing, from the listed directory on
  FileKind kind = FileKind::file;
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0;        // permissions
  std::int64_t modified_ns = 0;  // since 1970
  std::string target = {};       // of a symlink
  bool operator==(const FileEntry&) const = default;
};

struct FileEntries {
  std::vector<FileEntry> entries = {};
  std::string cursor = {};  // of the next page; empty: this is the last
  bool operator==(const FileEntries&) const = default;
};

struct FileDone {
  bool operator==(const FileDone&) const = default;
};

enum class FileProblem {
  not_found,
  is_directory,
  not_directory,
  not_empty,
  exists,
  permission,
  too_large,
  changed,  // while it was read or written
  no_space,
  invalid_path,  // a link, a special file, or a place that no request may reach
  busy,          // too many requests at once, or a reset
  failed,        // anything else, see the message
};
constexpr auto names_of(FileProblem /*type*/) {
  return enum_names<FileProblem>({{FileProblem::not_found, "not_found"},
                                  {FileProblem::is_directory, "is_directory"},
                                  {FileProblem::not_directory, "not_directory"},
                                  {FileProblem::not_empty, "not_empty"},
                                  {FileProblem::exists, "exists"},
                                  {FileProblem::permission, "permission"},
                                  {FileProblem::too_large, "too_large"},
                                  {FileProblem::changed, "changed"},
                                  {FileProblem::no_space, "no_space"},
                                  {FileProblem::invalid_path, "invalid_path"},
                                  {FileProblem::busy, "busy"},
                                  {FileProblem::failed, "failed"}});
}

struct FileFailed {
  FileProblem problem = FileProblem::failed;
  std::string message = {};
  bool operator==(const FileFailed&) const = default;
};

using FileAnswerBody = std::variant<FileEntry, FileEntries, FileDone, FileFailed>;

struct FileAnswer {
  StreamId stream = 0;
  FileAnswerBody body;
  bool operator==(const FileAnswer&) const = default;
};

std::string_view type_of(const FileAnswer& answer);

}  // namespace hearth::wire
