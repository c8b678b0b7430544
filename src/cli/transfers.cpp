#include "cli/transfers.h"

#include "api/problem.h"
#include "api/request_files.h"
#include "api/text.h"
#include "async/blocking.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/destination.h"
#include "cli/saved_displays.h"
#include "files/directory_tree.h"
#include "files/tree_path.h"
#include "files/tree_writer.h"
#include "os/trusted_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string_view>

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using wire::FileEntry;
using wire::FileKind;

constexpr std::string_view workspace = "/workspace/";
constexpr const char* too_large_hint =
    "; no more than /workspace can hold (scratch_size_mb) is copied, and holes in files count";
constexpr const char* special_files = "special files or mounts";

// A sparse file may say that it is larger than the memory that holds it.
TreeLimits limits_of(const pool::Lease& lease) {
  constexpr std::uint64_t most_entries = 1'000'000;
  return {.max_entries = most_entries,
          .max_bytes = static_cast<std::uint64_t>(lease.binding().scratch_size_mb) << 20};
}

std::string size_of_workspace(const pool::Lease& lease) {
  return "scratch_size_mb = " + std::to_string(lease.binding().scratch_size_mb);
}

struct Source {
  std::unique_ptr<files::TreeSource> tree;
  std::string directory;  // in the sandbox
};
// O_NONBLOCK: the opening does not wait, should a FIFO have taken the place of the file.
Source source_of(const Put& put) {
  os::UniqueFd file(::open(put.local.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) throw OsError("open it");
  if (S_ISDIR(status.st_mode))
    return {std::make_unique<files::DirectoryTree>(std::move(file), files::ClosedFiles::are_errors),
            put.path};
  if (!S_ISREG(status.st_mode)) throw Error("it is neither a file nor a directory");
  const fs::path path = put.path;
  const std::string directory = path.parent_path().string();
  return {std::make_unique<OneFile>(std::move(file), path.filename().string()),
          directory.empty() ? "." : directory};
}

// As listings name what is in /workspace.
std::string in_workspace(const std::string& path) {
  if (path.starts_with(workspace)) return path.substr(workspace.size());
  return path + '/' == workspace ? "." : path;
}

std::string joined_path(const std::string& directory, const std::string& name) {
  return directory == "." ? name : directory + '/' + name;
}

bool is_at_or_below(const std::string& path, const std::string& place) {
  return place == "." ||
         (path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/'));
}

SandboxFiles files_of_sandbox(pool::Lease* lease) {
  if (lease == nullptr || lease->is_over())
    throw Error("there is no sandbox any more, and so none of its files");
  return lease->files();
}

bool is_like_display(const std::string& path) {
  return (path.starts_with("figure-") || path.starts_with("display-")) &&
         path.find('/') == std::string::npos;
}

std::int64_t nanoseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void require_all(const files::TreeWriter& writer) {
  if (writer.left_out_count() == 0) return;
  const files::LeftOut& first = writer.left_out().front();
  const std::uint64_t more = writer.left_out_count() - 1;
  throw Error(first.path + ": " + first.why +
              (more == 0 ? "" : "; and " + std::to_string(more) + " more were not copied"));
}

}  // namespace

struct Transfers::Copied {
  NamedFiles files{};
  std::set<std::string> names{};  // at the top, that a display could have
};

files::TreeRules Transfers::rules() const {
  return options_.force ? files::TreeRules::onto_host_replacing : files::TreeRules::onto_host;
}

void Transfers::tell(const std::string& line) {
  errors_ << "hearth: " << printable_line(line) << '\n' << std::flush;
}

void Transfers::tell_left_out(const std::string& option, const char* what,
                              const NamedFiles& files) {
  if (files.count() > 0) tell(option + ": left out are " + what + ": " + files.text());
}

void Transfers::tell_kept(const std::string& where, const std::string& what) {
  if (telling_.summary)
    errors_ << printable_line(where) << ": " << (what.empty() ? "no files" : what) << '\n'
            << std::flush;
}

// ---- in

Task<> Transfers::put(pool::Lease& lease) {
  put_.clear();
  for (const Put& put : options_.puts) {
    api::Problem problem{.code = api::ProblemCode::invalid_request,
                         .detail = "--put " + put.local + ": "};
    try {
      co_await put_one(lease, put);
      continue;
    } catch (const FileError& error) {
      problem.detail += error.what();
      if (error.problem == wire::FileProblem::no_space) {
        problem.code = api::ProblemCode::no_space;
        problem.detail += "; a blueprint can have more room (" + size_of_workspace(lease) + ")";
      }
    } catch (const Error& error) {
      problem.detail += error.what();
    }
    throw api::RequestRefused(std::move(problem));
  }
}

Task<> Transfers::put_one(pool::Lease& lease, const Put& put) {
  Source source = source_of(put);
  const std::string directory = in_workspace(source.directory);
  ReadAheadTree tree(std::move(source.tree), thread_);
  CopyProgress progress("--put", telling_.progress, errors_);
  NamedFiles special;
  WatchedTree watched(tree, progress, [&](const FileEntry& entry) {
    if (entry.kind == FileKind::file)
      put_[joined_path(directory, entry.path)] = {entry.size_bytes, entry.modified_ns};
    if (entry.kind == FileKind::other) special.add(entry.path);
    return entry.kind != FileKind::other;
  });
  SandboxFiles files = lease.files();
  co_await files.write_tree(source.directory, watched);
  progress.clear();
  tell_left_out("--put " + put.local, special_files, special);
}

// ---- out

void Transfers::keep(const std::vector<wire::Display>& displays) {
  if (!options_.save.empty()) displays_.insert(displays_.end(), displays.begin(), displays.end());
}

Task<bool> Transfers::take(pool::Lease* lease) {
  bool is_whole = true;
  for (const Get& one : options_.gets)
    if (!co_await tried("--get " + one.path, get(lease, one))) is_whole = false;
  if (!options_.save.empty() && !co_await tried("--save " + options_.save, save(lease)))
    is_whole = false;
  if (lease != nullptr && !lease->is_over()) co_await tell_lost(*lease);
  co_return is_whole;
}

Task<bool> Transfers::tried(std::string option, Task<> work) try {
  co_await std::move(work);
  co_return true;
} catch (const Error& error) {
  tell(std::move(option) + ": " + error.what());
  co_return false;
}

Task<> Transfers::get(pool::Lease* lease, const Get& get) {
  SandboxFiles files = files_of_sandbox(lease);
  const FileEntry found = co_await files.stat(get.path);
  const fs::path local = get.local;
  const std::string option = "--get " + get.path;
  Copied copied;
  if (found.kind == FileKind::directory) {
    const std::unique_ptr<TreeReader> tree = co_await files.read_tree(get.path, limits_of(*lease));
    co_await copy_out(*tree, make_directory(get.local, options_.force), option, copied);
    tell_kept("copied to " + get.local, copied.files.text());
  } else {
    OneSandboxFile file(co_await files.open(get.path), local.filename().string());
    co_await copy_out(file, open_directory_of(get.local), option, copied);
    tell_kept("copied to " + get.local, api::size_in_words(copied.files.bytes()));
  }
}

// What goes wrong with the files does not lose the figures, which are here already.
Task<> Transfers::save(pool::Lease* lease) {
  Copied saved;
  std::exception_ptr failure;
  try {
    co_await save_workspace(lease, saved);
  } catch (const Error&) {
    failure = std::current_exception();
  }
  co_await save_displays(saved);
  if (failure) std::rethrow_exception(failure);
  tell_kept("saved in " + options_.save, saved.files.text());
}

Task<> Transfers::save_workspace(pool::Lease* lease, Copied& saved) {
  SandboxFiles files = files_of_sandbox(lease);
  const std::unique_ptr<TreeReader> tree = co_await files.read_tree(".", limits_of(*lease));
  co_await copy_out(*tree, os::open_named_directory(options_.save), "--save " + options_.save,
                    saved, Caches::are_left_out);
}

// Their names give way to those that a script has chosen.
Task<> Transfers::save_displays(Copied& saved) {
  if (displays_.empty()) co_return;
  files::TreeWriter writer(os::open_named_directory(options_.save), rules());
  const std::vector<wire::Display> displays = std::exchange(displays_, {});
  co_await on_thread(thread_, [&](const std::stop_token& /*stop*/) {
    std::size_t number = 0;
    for (const wire::Display& display : displays)
      for (const SavedDisplay& file : files_of(display)) {
        std::string name;
        do {
          name = file.name + '-' + std::to_string(++number) + file.ending;
        } while (saved.names.contains(name));
        writer.begin({.path = name,
                      .size_bytes = file.bytes.size(),
                      .mode = 0666,
                      .modified_ns = nanoseconds_since_1970()});
        writer.data(file.bytes);
        saved.files.add(name, file.bytes.size());
      }
    writer.finish();
  });
  require_all(writer);
}

// What could lead out of the directory is no failure: a script may well have such links.
Task<> Transfers::copy_out(TreeReader& tree, os::UniqueFd directory, std::string option,
                           Copied& copied, Caches caches) {
  CopyProgress progress(option.substr(0, option.find(' ')), telling_.progress, errors_);
  NamedFiles special;
  NamedFiles links;
  WatchedTree watched(tree, progress, [&](const FileEntry& entry) {
    if (caches == Caches::are_left_out && api::is_cache(entry.path)) return false;
    if (entry.kind == FileKind::file) copied.files.add(entry.path, entry.size_bytes);
    if (is_like_display(entry.path)) copied.names.insert(entry.path);
    if (entry.kind == FileKind::other) {
      special.add(entry.path);
      return false;
    }
    const bool is_link = entry.kind == FileKind::symlink;
    const bool leads_out = is_link && files::leads_out(entry.path, entry.target);
    if (leads_out) links.add(entry.path);
    return !leads_out;
  });
  files::TreeWriter writer(std::move(directory), rules());
  try {
    co_await copy_tree(watched, writer, thread_);
  } catch (const FileError& error) {
    if (error.problem != wire::FileProblem::too_large) throw;
    throw Error(error.what() + std::string(too_large_hint));
  }
  co_await on_thread(thread_, [&](const std::stop_token& /*stop*/) { writer.finish(); });
  progress.clear();
  tell_left_out(option, special_files, special);
  tell_left_out(option, "links that could lead out of the directory", links);
  require_all(writer);
}

// ---- what nothing takes

bool Transfers::is_taken(const std::string& path) const {
  for (const Get& get : options_.gets)
    if (is_at_or_below(path, in_workspace(get.path))) return true;
  return false;
}

// Without what is hidden, which is caches of programs.
Task<> Transfers::tell_lost(pool::Lease& lease) try {
  if (!telling_.summary || !options_.save.empty()) co_return;
  NamedFiles lost;
  for (const FileEntry& entry : co_await api::all_files(lease.files())) {
    const auto given = put_.find(entry.path);
    const bool is_as_given =
        given != put_.end() && given->second == SizeAndTime(entry.size_bytes, entry.modified_ns);
    if (!is_as_given && !entry.path.starts_with('.') && !is_taken(entry.path))
      lost.add(entry.path, entry.size_bytes);
  }
  if (lost.count() > 0)
    errors_ << "not kept: " << lost.text() << " (--save DIR keeps what is in /workspace)\n"
            << std::flush;
} catch (const Error& error) {
  log::debug("files of a sandbox could not be listed", {{"error", error.what()}});
}

}  // namespace hearth::cli
