// cli/copied_trees.h: one file as a tree, and a tree that is watched while it is copied.
#pragma once

#include "channel/sandbox_files.h"
#include "channel/tree.h"
#include "cli/copy_progress.h"
#include "files/tree.h"
#include "os/unique_fd.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace hearth::cli {

// Of this machine. Throws OsError.
class OneFile : public files::TreeSource {
 public:
  OneFile(os::UniqueFd file, std::string name);
  std::optional<wire::FileEntry> next() override;
  std::size_t read(std::span<char> into) override;

 private:
  os::UniqueFd file_;
  std::string name_;
  bool is_given_ = false;
  std::uint64_t left_ = 0;
};

// Of a sandbox.
class OneSandboxFile : public TreeReader {
 public:
  OneSandboxFile(FileReader file, std::string name)
      : file_(std::move(file)), name_(std::move(name)) {}
  Task<std::optional<wire::FileEntry>> next() override;
  Task<std::string> read() override;

 private:
  FileReader file_;
  std::string name_;
  bool is_given_ = false;
};

// All that is referred to must outlive it.
class WatchedTree : public TreeReader {
 public:
  // False: the entry is left out.
  using OnEntry = std::function<bool(const wire::FileEntry&)>;
  WatchedTree(TreeReader& tree, CopyProgress& progress, OnEntry on_entry)
      : tree_(tree), progress_(progress), on_entry_(std::move(on_entry)) {}
  Task<std::optional<wire::FileEntry>> next() override;
  Task<std::string> read() override;

 private:
  TreeReader& tree_;
  CopyProgress& progress_;
  OnEntry on_entry_;
};

// What people see of many files: "a.csv 10 kB, out/b.png 34 kB and 12 more, 3.4 MB in all", or
// without sizes "a, out/b and 12 more".
class NamedFiles {
 public:
  void add(const std::string& path);
  void add(const std::string& path, std::uint64_t bytes);
  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return bytes_; }
  std::string text() const;  // empty: there are none

 private:
  std::string names_{};
  std::uint64_t named_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace hearth::cli
