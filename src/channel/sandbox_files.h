// channel/sandbox_files.h: files in a sandbox, also while a turn runs in it. Paths are relative to
// /workspace, or absolute. Any number of requests at once, by any tasks.
//
// All throw FileError with the kind of the problem, or IncompleteRead or ProtocolError when the
// sandbox is gone. A cancelled request leaves the sandbox usable.
#pragma once

#include "async/task.h"
#include "base/error.h"
#include "channel/sandbox_channel.h"
#include "channel/tree.h"
#include "wire/messages.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

class DataStream;

struct FileError : Error {
  FileError(wire::FileProblem kind, const std::string& message) : Error(message), problem(kind) {}
  wire::FileProblem problem;
};

// A file that is being read. What is not read waits in the sandbox.
class FileReader {
 public:
  FileReader();  // of nothing
  FileReader(std::unique_ptr<DataStream> stream, wire::FileEntry entry);
  FileReader(FileReader&& other) noexcept;
  ~FileReader();

  // The file as it was opened.
  const wire::FileEntry& entry() const { return entry_; }
  // The next bytes; empty at the end. FileError `changed` if the file was changed meanwhile.
  Task<std::string> next();

 private:
  std::unique_ptr<DataStream> stream_;
  wire::FileEntry entry_;
  bool is_over_ = false;
};

// A file that is being written. It appears with finish(), whole, and not at all without.
class FileWriter {
 public:
  FileWriter();  // of nothing
  explicit FileWriter(std::unique_ptr<DataStream> stream);
  FileWriter(FileWriter&& other) noexcept;
  ~FileWriter();

  // `bytes` must outlive the task. Throws as soon as the sandbox refuses the file.
  Task<> append(std::string_view bytes);
  Task<wire::FileEntry> finish();

 private:
  std::unique_ptr<DataStream> stream_;
};

// Of a tree: more than that is `too_large`.
struct TreeLimits {
  std::uint64_t max_entries = 0;
  std::uint64_t max_bytes = 0;  // of all files together
};

class SandboxFiles {
 public:
  // `channel` must outlive this, its readers, writers and tasks.
  explicit SandboxFiles(SandboxChannel& channel) : channel_(&channel) {}

  Task<FileReader> open(std::string path, std::uint64_t offset = 0,
                        std::optional<std::uint64_t> length = {});
  // The whole file; `too_large` if it has more bytes than that.
  Task<std::string> read(std::string path, std::uint64_t max_bytes);

  // Without a mode a new file gets 0644. Missing directories are made.
  Task<FileWriter> create(std::string path, std::optional<std::uint32_t> mode = {});
  // `content` must outlive the task.
  Task<wire::FileEntry> write(std::string path, std::string_view content,
                              std::optional<std::uint32_t> mode = {});

  // Of a link itself, and of what is no file. No other function follows or opens these.
  Task<wire::FileEntry> stat(std::string path);
  // One page; the cursor in it is that of the next. Where files appear and vanish meanwhile, one
  // may come twice or not at all.
  Task<wire::FileEntries> list(wire::ListFiles call);
  // Missing parents are made. `exists` if anything is there.
  Task<> make_directory(std::string path);
  // `exists` if anything is at `to`. Within one file system only.
  Task<> move(std::string from, std::string to);
  Task<> set_mode(std::string path, std::uint32_t mode);
  // A directory that has something in it only if `recursive`.
  Task<> remove(std::string path, bool recursive = false);

  // All that is in a directory, as it comes; what is not read waits in the sandbox. Special files
  // and mounts are entries of the kind `other`, links come as they are. The tree is no longer than
  // the sandbox. It throws as these functions do; `changed` if a file is changed meanwhile.
  Task<std::unique_ptr<TreeReader>> read_tree(std::string path, TreeLimits limits);
  // Into a directory, which is made if it is not there. All of it is there when it returns; if it
  // throws, what was written before stays. Directories may be there already, anything else in the
  // way is `exists`. `tree` must outlive the task.
  Task<> write_tree(std::string path, TreeReader& tree);

 private:
  Task<> ask(wire::FileCall call);
  Task<std::unique_ptr<DataStream>> start(wire::FileCall call);

  SandboxChannel* channel_;
};

}  // namespace hearth
