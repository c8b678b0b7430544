// tests/support/files_place.h: a sandbox of either backend with its files at hand: a script puts
// things there, and the host asks for them.
#pragma once

#include "channel/sandbox_files.h"
#include "channel/tree.h"
#include "files/directory_tree.h"
#include "files/tree_writer.h"
#include "tests/support/any_backend.h"

#include <fcntl.h>

#include <doctest/doctest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::test {

struct FoundFile {
  wire::FileEntry entry;
  std::string content;
};
using FoundTree = std::map<std::string, FoundFile>;

inline constexpr std::uint64_t any_size = std::uint64_t{1} << 30;
inline constexpr TreeLimits any_tree{100'000, any_size};

inline Task<FoundTree> whole_tree(TreeReader& tree) {
  FoundTree found;
  while (std::optional<wire::FileEntry> entry = co_await tree.next()) {
    const std::string name = entry->path;
    FoundFile& one = found[name];
    one.entry = *std::move(entry);
    for (std::string bytes = co_await tree.read(); !bytes.empty(); bytes = co_await tree.read())
      one.content += bytes;
  }
  co_return found;
}

inline Task<FoundTree> tree_at(SandboxFiles& files, std::string path,
                               TreeLimits limits = any_tree) {
  const std::unique_ptr<TreeReader> tree = co_await files.read_tree(std::move(path), limits);
  co_return co_await whole_tree(*tree);
}

inline Task<std::string> rest_of(FileReader& reader) {
  std::string content;
  for (std::string bytes = co_await reader.next(); !bytes.empty(); bytes = co_await reader.next())
    content += bytes;
  co_return content;
}

template <typename Backend>
struct FilesPlace {
  Backend backend;
  std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  SandboxFiles files{sandbox->channel()};
  asio::thread_pool threads{1};

  explicit FilesPlace(blueprint::SandboxConfig config = Backend::config())
      : backend(std::move(config)) {}

  // What the script printed. It comes to its end.
  std::string run(const std::string& script, double timeout_seconds = 120) {
    const auto result = backend.run_in(*sandbox, script, timeout_seconds, wire::Mode::interactive);
    INFO("error: ", result.error ? result.error->traceback : "none", " detail: ", result.detail);
    REQUIRE(result.verdict == execution::Verdict::ok);
    return result.stdout_text;
  }
  template <typename T>
  T wait(Task<T> task) {
    return run_task(backend.loop(), std::move(task));
  }
  // All of it, while a turn begins and ends beside it.
  void finish_beside_a_turn(Task<> task) {
    std::optional<std::exception_ptr> ended;
    asio::co_spawn(backend.loop(), std::move(task),
                   [&](std::exception_ptr failure) { ended = std::move(failure); });
    run("x = 1");
    while (!ended.has_value()) wait(sandbox->channel().ping(std::chrono::seconds(60)));
    CHECK(*ended == nullptr);
  }
  // The kind of error that it fails with, or "none".
  template <typename T>
  std::string problem(Task<T> task) {
    try {
      wait(std::move(task));
    } catch (const FileError& error) {
      return std::string(enum_name(error.problem));
    }
    return "none";
  }
  // The paths of all pages.
  std::vector<std::string> all(wire::ListFiles call) {
    std::vector<std::string> paths;
    do {
      const wire::FileEntries page = wait(files.list(call));
      for (const wire::FileEntry& entry : page.entries) paths.push_back(entry.path);
      call.cursor = page.cursor;
    } while (!call.cursor.empty());
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  FoundTree tree(const std::string& path = ".") { return wait(tree_at(files, path)); }
  // As `hearth run --save` does.
  void save(files::TreeWriter& writer) {
    const auto copy = [&]() -> Task<> {
      const std::unique_ptr<TreeReader> tree = co_await files.read_tree(".", any_tree);
      co_await copy_tree(*tree, writer, threads);
    };
    wait(copy());
    writer.finish();
  }
  // A directory of the host.
  Task<> put(std::filesystem::path directory, std::string path) {
    ReadAheadTree tree(
        std::make_unique<files::DirectoryTree>(files::open_directory(AT_FDCWD, directory.c_str()),
                                               files::ClosedFiles::are_errors),
        threads);
    co_await files.write_tree(std::move(path), tree);
  }
};

}  // namespace hearth::test
