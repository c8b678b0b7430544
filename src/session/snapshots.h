// session/snapshots.h: workspaces on disk: for each session a directory, in it one for each
// generation with the archive and its manifest.
//
// A generation is written beside its place, synced and renamed; it never changes afterwards. So a
// crash leaves it whole or not there. What refers to a generation is recorded elsewhere, and only
// then older ones are removed.
#pragma once

#include "async/task.h"
#include "base/error.h"
#include "os/unique_fd.h"
#include "session/kept_variables.h"
#include "session/manifest.h"
#include "session/tree.h"
#include "session/tree_check.h"

#include <boost/asio/thread_pool.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::session {

// A snapshot is not there, or not as it was written. Never answered with an empty workspace.
struct SnapshotDamaged : Error {
  SnapshotDamaged(const std::string& session, std::int64_t damaged, const std::string& why,
                  std::optional<std::int64_t> older);
  std::string session_id;
  std::int64_t generation;
  std::optional<std::int64_t> fallback;  // the newest older one that is there
};

struct Written {
  Manifest manifest{};
  std::vector<std::string> left_out{};  // sockets, FIFOs, devices: the first hundred
};

class Snapshots {
 public:
  // Creates the directory, for its owner alone.
  Snapshots(std::filesystem::path directory, SnapshotLimits limits);
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  // What write() would return, without writing.
  Task<Written> survey(TreeReader& tree);
  // On the disk when it returns; nothing of it is there if it throws. UnsafeTree, SnapshotTooLarge,
  // OsError. What another process left of this generation is replaced.
  // What is referred to must outlive the task.
  Task<Written> write(std::string session, std::int64_t generation, TreeReader& tree,
                      const KeptVariables& variables = {});

  // SnapshotDamaged.
  Task<Manifest> manifest(std::string session, std::int64_t generation);
  // All of it has been checked when it returns. SnapshotDamaged. The tree must not outlive this.
  Task<std::unique_ptr<TreeReader>> open(std::string session, std::int64_t generation);

  // Those that were kept with it. SnapshotDamaged.
  Task<KeptVariables> variables(std::string session, std::int64_t generation);

  // Removes all generations of a session but these.
  Task<> keep_only(std::string session, std::vector<std::int64_t> generations);
  Task<> remove(std::string session);
  // All that have a directory here; what else is in it is not Hearth's.
  Task<std::vector<std::string>> sessions();

  // A tar of any origin as a tree, and a tree as a tar with zstd. Links that could lead out of
  // where it will be unpacked are left out and returned.
  Task<std::unique_ptr<TreeReader>> open_tar(os::UniqueFd file, std::string name);
  Task<std::vector<std::string>> write_tar(TreeReader& tree, int fd, std::string name);

 private:
  std::filesystem::path directory_of(const std::string& session) const;
  std::filesystem::path place_of(const std::string& session, std::int64_t generation) const;
  Manifest checked_manifest(const std::string& session, std::int64_t generation) const;
  [[noreturn]] void damaged(const std::string& session, std::int64_t generation,
                            const std::string& why) const;
  Task<Written> write_aside(std::filesystem::path aside, std::int64_t generation, TreeReader& tree,
                            const KeptVariables& variables);

  std::filesystem::path directory_;
  SnapshotLimits limits_;
  asio::thread_pool threads_{2};
};

}  // namespace hearth::session
