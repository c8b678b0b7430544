// builder/image_builder.h: the images of the Docker backend.
#pragma once

#include "async/shared_work.h"
#include "builder/build_image.h"
#include "builder/sandbox_builder.h"
#include "builder/use_records.h"
#include "docker/engine_client.h"
#include "registry/tool_registry.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace hearth::builder {

class ImageBuilder : public SandboxBuilder {
 public:
  // Asks the engine first: EngineUnreachable says how to fix what is wrong with its socket.
  // `registry` must outlive the builder.
  static Task<std::unique_ptr<ImageBuilder>> open(asio::any_io_executor loop,
                                                  const registry::ToolRegistry& registry,
                                                  docker::EngineAddress engine,
                                                  ImageOptions options,
                                                  std::size_t parallel_builds = 2);

  // Also EngineUnreachable and EngineError.
  Task<BuiltImage> ensure_image(std::string name, OnProgress on_line);
  // Its tag.
  Task<std::string> ensure_sandbox(std::string name, OnProgress on_line) override;
  Task<std::vector<Built>> list() override;
  Task<std::string> rebuild_sandbox(std::string name, OnProgress on_line) override;
  Task<std::vector<std::string>> prune(Prune how) override;

 private:
  ImageBuilder(asio::any_io_executor loop, const registry::ToolRegistry& registry,
               docker::EngineAddress engine, ImageOptions options, std::size_t parallel_builds);
  Task<BuiltImage> run(BuildPlan plan, OnProgress on_line);
  UseRecords records() const;
  Task<std::set<std::string>> images_in_use();
  Task<bool> remove(std::string image);
  struct Image {
    Built built{};
    std::string id{};
  };
  Task<std::vector<Image>> images();

  const registry::ToolRegistry& registry_;
  docker::EngineAddress engine_;
  docker::EngineClient client_;
  ImageOptions options_;
  SharedWork<BuiltImage> builds_;
};

}  // namespace hearth::builder
