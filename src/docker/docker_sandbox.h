// docker/docker_sandbox.h: one container as a sandbox.
#pragma once

#include "backend/sandbox.h"
#include "docker/container.h"
#include "docker/container_stream.h"
#include "docker/docker_source.h"

#include <memory>
#include <string>
#include <utility>

namespace hearth::docker {

class DockerSandbox : public backend::Sandbox {
 public:
  // `source` must outlive it.
  DockerSandbox(DockerSource& source, std::shared_ptr<Container> container,
                std::unique_ptr<ContainerStream> stream);
  ~DockerSandbox() override;
  DockerSandbox(const DockerSandbox&) = delete;
  DockerSandbox& operator=(const DockerSandbox&) = delete;

  // As `docker ps` shows it.
  const std::string& id() const override { return short_id_; }
  SandboxChannel& channel() override { return channel_; }
  void kill() override;
  // Also returns when the engine is out of reach.
  Task<> exited() override { return Container::ended(container_); }
  bool memory_limit_hit() const override { return container_->out_of_memory; }
  Task<backend::SandboxUsage> usage() const override;
  Task<> set_limits(blueprint::ResourceLimits limits) override;
  Task<> probe() override;

  backend::Interpreter python() const override { return {.version = python_version_}; }
  void note_python(std::string version) { python_version_ = std::move(version); }

  // Throws SpawnError if the engine says that it is not what was ordered.
  Task<> check_posture() const;
  const std::string& container_id() const { return container_->id; }

 private:
  DockerSource& source_;
  std::shared_ptr<Container> container_;
  std::string short_id_;
  std::string python_version_;  // as it said when it was ready
  ContainerStream& stream_;     // in channel_
  SandboxChannel channel_;
};

}  // namespace hearth::docker
