#include "session/snapshots.h"

#include "async/blocking.h"
#include "blueprint/problem.h"
#include "files/tree_path.h"
#include "os/durable_files.h"
#include "os/read_file.h"
#include "os/remove_tree.h"
#include "os/trusted_path.h"
#include "session/archive.h"
#include "session/tidy_tree.h"
#include "store/session_record.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

namespace hearth::session {
namespace {

namespace fs = std::filesystem;

constexpr const char* archive_name = "workspace.tar.zst";
constexpr const char* manifest_name = "manifest.ndjson";
constexpr const char* variables_name = "variables.pickle";
constexpr std::size_t most_variables_bytes = std::size_t{1} << 30;
// An entry has at most two paths, as Base64.
constexpr std::size_t most_entry_bytes = 12'000;
constexpr std::chrono::seconds remove_limit{60};

struct Hashing : TreeSink {
  void begin(const TreeEntry& entry) override { builder.begin(entry); }
  void data(std::string_view bytes) override { builder.data(bytes); }
  ManifestBuilder builder;
};

struct Writing : TreeSink {
  explicit Writing(const fs::path& file)
      : fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)), name(file) {
    if (!fd) throw OsError("create " + file.string());
    archive.emplace(fd.get(), file.string());
  }
  void begin(const TreeEntry& entry) override {
    builder.begin(entry);
    archive->begin(entry);
  }
  void data(std::string_view bytes) override {
    builder.data(bytes);
    archive->data(bytes);
  }
  Manifest finish(std::int64_t generation) {
    ArchiveWriter::Finished finished = archive->finish();
    if (::fsync(fd.get()) != 0) throw OsError("sync " + name.string());
    return {.generation = generation,
            .archive_bytes = finished.bytes,
            .archive_sha256 = std::move(finished.sha256),
            .entries = builder.finish()};
  }
  os::UniqueFd fd;
  fs::path name;
  std::optional<ArchiveWriter> archive;
  ManifestBuilder builder;
};

struct Exporting : TreeSink {
  Exporting(int fd, std::string name) : archive(fd, std::move(name)) {}
  void begin(const TreeEntry& entry) override {
    if (entry.kind == TreeKind::symlink && files::leads_out(entry.path, entry.target)) {
      left_out.push_back(entry.path);
    } else {
      archive.begin(entry);
    }
  }
  void data(std::string_view bytes) override { archive.data(bytes); }
  ArchiveWriter archive;
  std::vector<std::string> left_out;
};

std::optional<std::int64_t> generation_in(const std::string& name) {
  std::int64_t generation = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), generation);
  if (error != std::errc() || end != name.data() + name.size() || generation <= 0)
    return std::nullopt;
  return generation;
}

void remove_directory(const fs::path& directory) {
  if (!os::remove_tree(directory, std::chrono::steady_clock::now() + remove_limit))
    throw Error("the snapshot in " + directory.string() + " cannot be removed");
}

std::string sum_of(const fs::path& file) {
  const os::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) throw OsError("open " + file.string());
  Sha256 sum;
  std::array<char, 1 << 16> buffer{};
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw OsError("read " + file.string());
    if (count == 0) return sum.finish();
    sum.add({buffer.data(), static_cast<std::size_t>(count)});
  }
}

std::string damage_text(const std::string& session, std::int64_t damaged, const std::string& why,
                        std::optional<std::int64_t> older) {
  const std::string way_out =
      older ? fmt::format("it can be resumed from generation {}", *older)
            : std::string("there is no older one; generation 0 is an empty workspace");
  return fmt::format("the snapshot of generation {} of the session {} is damaged ({}); {}", damaged,
                     session, why, way_out);
}

}  // namespace

SnapshotDamaged::SnapshotDamaged(const std::string& session, std::int64_t damaged,
                                 const std::string& why, std::optional<std::int64_t> older)
    : Error(damage_text(session, damaged, why, older)),
      session_id(session),
      generation(damaged),
      fallback(older) {}

Snapshots::Snapshots(fs::path directory, SnapshotLimits limits)
    : directory_(std::move(directory)), limits_(limits) {
  os::make_private_directory(directory_);
}

Snapshots::~Snapshots() { threads_.join(); }

// A name that a database gave: it must not lead anywhere else.
fs::path Snapshots::directory_of(const std::string& session) const {
  if (!store::is_session_id(session))
    throw Error("no session can be called " + blueprint::in_quotes(session));
  return directory_ / session;
}

fs::path Snapshots::place_of(const std::string& session, std::int64_t generation) const {
  return directory_of(session) / std::to_string(generation);
}

Task<Written> Snapshots::survey(TreeReader& tree) {
  Hashing hashing;
  TreeCheck check(limits_);
  CheckedTree checked(tree, check);
  co_await copy_tree(checked, hashing, threads_);
  co_return Written{{.entries = hashing.builder.finish()}, check.left_out()};
}

Task<Written> Snapshots::write(std::string session, std::int64_t generation, TreeReader& tree,
                               const KeptVariables& variables) {
  const fs::path place = place_of(session, generation);
  fs::path aside = place;
  aside += ".new";
  Written written;
  std::exception_ptr failure;
  try {
    co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
      if (!fs::exists(place.parent_path())) {
        os::make_directory(place.parent_path(), 0700);
        os::sync_directory(directory_);
      }
      remove_directory(aside);
      os::make_directory(aside, 0700);
    });
    written = co_await write_aside(aside, generation, tree, variables);
    co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
      remove_directory(place);
      if (::rename(aside.c_str(), place.c_str()) != 0)
        throw OsError("move " + aside.string() + " to " + place.string());
      os::sync_directory(place.parent_path());
    });
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return written;
  co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
    const auto deadline = std::chrono::steady_clock::now() + remove_limit;
    os::remove_tree(aside, deadline);
    os::remove_tree(place, deadline);
  });
  std::rethrow_exception(failure);
}

Task<Written> Snapshots::write_aside(fs::path aside, std::int64_t generation, TreeReader& tree,
                                     const KeptVariables& variables) {
  Writing writing(aside / archive_name);
  TreeCheck check(limits_);
  CheckedTree checked(tree, check);
  co_await copy_tree(checked, writing, threads_);
  Manifest manifest = co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
    Manifest finished = writing.finish(generation);
    finished.variables_sha256 = sum_of_pickle(variables);
    finished.variables = variables.names;
    finished.lost_variables = variables.lost;
    if (!variables.pickle.empty())
      os::write_new_file(aside / variables_name, variables.pickle, 0600);
    os::write_new_file(aside / manifest_name, to_text(finished), 0600);
    os::sync_directory(aside);
    return finished;
  });
  co_return Written{std::move(manifest), check.left_out()};
}

void Snapshots::damaged(const std::string& session, std::int64_t generation,
                        const std::string& why) const {
  std::optional<std::int64_t> older;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_of(session), none)) {
    const auto there = generation_in(entry.path().filename());
    if (there && *there < generation) older = std::max(older.value_or(0), *there);
  }
  throw SnapshotDamaged(session, generation, why, older);
}

// In a thread.
Manifest Snapshots::checked_manifest(const std::string& session, std::int64_t generation) const {
  const std::size_t most_bytes = (limits_.max_entries + 2) * most_entry_bytes;
  std::string text;
  try {
    text = os::read_file(place_of(session, generation) / manifest_name, most_bytes);
  } catch (const Error& error) {
    damaged(session, generation, error.what());
  }
  std::optional<Manifest> manifest = manifest_in(text);
  if (!manifest) damaged(session, generation, "its manifest is not whole");
  if (manifest->generation != generation)
    damaged(session, generation, fmt::format("it is generation {}", manifest->generation));
  return *std::move(manifest);
}

Task<Manifest> Snapshots::manifest(std::string session, std::int64_t generation) {
  co_return co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
    return checked_manifest(session, generation);
  });
}

Task<std::unique_ptr<TreeReader>> Snapshots::open(std::string session, std::int64_t generation) {
  auto archive = co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
    const Manifest manifest = checked_manifest(session, generation);
    const fs::path file = place_of(session, generation) / archive_name;
    try {
      if (sum_of(file) == manifest.archive_sha256)
        return std::make_unique<ArchiveReader>(
            os::UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)), file.string());
    } catch (const Error& error) {
      damaged(session, generation, error.what());
    }
    damaged(session, generation, "its archive is not what the manifest says");
  });
  co_return std::make_unique<ReadAheadTree>(std::move(archive), threads_);
}

Task<KeptVariables> Snapshots::variables(std::string session, std::int64_t generation) {
  co_return co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
    Manifest manifest = checked_manifest(session, generation);
    KeptVariables kept{.names = std::move(manifest.variables),
                       .lost = std::move(manifest.lost_variables)};
    if (manifest.variables_sha256.empty()) return kept;
    try {
      kept.pickle =
          os::read_file(place_of(session, generation) / variables_name, most_variables_bytes);
    } catch (const Error& error) {
      damaged(session, generation, error.what());
    }
    if (sum_of_pickle(kept) != manifest.variables_sha256)
      damaged(session, generation, "its variables are not what the manifest says");
    return kept;
  });
}

Task<> Snapshots::keep_only(std::string session, std::vector<std::int64_t> generations) {
  co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
    std::error_code none;
    std::vector<fs::path> surplus;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_of(session), none)) {
      const auto there = generation_in(entry.path().filename());
      const bool is_kept =
          there && std::find(generations.begin(), generations.end(), *there) != generations.end();
      if (!is_kept) surplus.push_back(entry.path());
    }
    for (const fs::path& path : surplus) remove_directory(path);
  });
}

Task<> Snapshots::remove(std::string session) {
  co_await on_thread(
      threads_, [&](const std::stop_token& /*stop*/) { remove_directory(directory_of(session)); });
}

Task<std::vector<std::string>> Snapshots::sessions() {
  co_return co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_))
      if (std::string name = entry.path().filename(); store::is_session_id(name))
        names.push_back(std::move(name));
    return names;
  });
}

Task<std::unique_ptr<TreeReader>> Snapshots::open_tar(os::UniqueFd file, std::string name) {
  auto archive = co_await on_thread(threads_, [&](const std::stop_token& /*stop*/) {
    return std::make_unique<ArchiveReader>(std::move(file), name);
  });
  co_return std::make_unique<TidyTree>(
      std::make_unique<ReadAheadTree>(std::move(archive), threads_));
}

Task<std::vector<std::string>> Snapshots::write_tar(TreeReader& tree, int fd, std::string name) {
  Exporting exporting(fd, std::move(name));
  TreeCheck check(limits_);
  CheckedTree checked(tree, check);
  co_await copy_tree(checked, exporting, threads_);
  co_await on_thread(threads_,
                     [&](const std::stop_token& /*stop*/) { exporting.archive.finish(); });
  co_return std::move(exporting.left_out);
}

}  // namespace hearth::session
