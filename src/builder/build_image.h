// builder/build_image.h: one image, built or found, in the calling thread, which has a loop of its
// own for it: reading wheels and packing them would stop the other one.
#pragma once

#include "builder/image_plan.h"
#include "docker/engine_address.h"

#include <stop_token>
#include <string>

namespace hearth::builder {

struct BuiltImage {
  std::string tag{};
  std::string id{};  // of what was found to be right. Another build may move the tag.
};

// BuildError with the log, BuildStopped, OsError; EngineUnreachable and EngineError when
// the engine will not.
BuiltImage build_image(const BuildPlan& plan, const ImageOptions& options,
                       const docker::EngineAddress& engine, const std::stop_token& stop,
                       const BuildLog::OnLine& on_line);

}  // namespace hearth::builder
