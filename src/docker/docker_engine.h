// docker/docker_engine.h: a Docker engine, and the identity of this installation there. Shared by
// all sources of a process.
#pragma once

#include "async/mutex.h"
#include "docker/container_uids.h"
#include "docker/engine_client.h"
#include "docker/shown_tools.h"
#include "os/file_lock.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace hearth::docker {

struct DockerEngineOptions {
  EngineAddress address{};
  std::string runtime{};              // runc, crun, runsc, ...; empty: the engine's default
  std::filesystem::path state_dir{};  // holds the installation's id, and a lock for each process
  std::chrono::milliseconds ready_limit{30'000};
};

class DockerEngine {
 public:
  // Asks the engine, and removes what dead processes of this installation left there. Throws
  // EngineUnreachable with advice, EngineError, OsError.
  static Task<std::shared_ptr<DockerEngine>> open(DockerEngineOptions options);
  ~DockerEngine();
  DockerEngine(const DockerEngine&) = delete;
  DockerEngine& operator=(const DockerEngine&) = delete;

  EngineClient& client() { return client_; }
  const DockerEngineOptions& options() const { return options_; }
  const EngineIdentity& identity() const { return identity_; }
  double cores() const { return cores_; }
  bool limits_swap() const { return limits_swap_; }
  bool has_recursive_read_only() const;
  const std::string& kernel() const { return kernel_; }  // its version
  const std::string& seccomp_profile() const { return seccomp_profile_; }

  // For containers of this process.
  const ShownTools& shown_tools() const { return *shown_tools_; }

  // On everything this process makes.
  std::map<std::string, std::string> labels(const std::string& blueprint_name) const;
  // For a new container.
  std::string unique_name() const;
  // For a new container: a user id that no other container of Hearth has at this engine.
  Task<ContainerUids::Lease> take_uid();
  // Held while a container is created and started. More at once would not be faster: each of them
  // would only be ready later.
  Task<Mutex::Lock> permit_to_start();

 private:
  explicit DockerEngine(DockerEngineOptions options);
  Task<> look();
  Task<> reconcile();
  Task<bool> remove_leftover(std::string path);
  std::filesystem::path lock_of(const std::string& instance) const;

  DockerEngineOptions options_;
  EngineClient client_;
  EngineIdentity identity_;
  double cores_ = 1;
  bool limits_swap_ = true;
  std::string kernel_;
  ContainerUids uids_;
  std::string seccomp_profile_;
  std::array<Mutex, 4> lanes_;
  std::size_t next_lane_ = 0;
  std::string owner_;
  std::string instance_;
  std::optional<os::FileLock> alive_;
  std::optional<ShownTools> shown_tools_;
};

// For `hearth doctor`: `20.10.24 (API 1.41), cgroups 1, overlay2, runtimes runc, runsc`.
std::string describe_engine(const EngineIdentity& identity, const boost::json::value& info);

}  // namespace hearth::docker
