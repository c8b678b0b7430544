// builder/image_plan.h: what an image is made of. Decides only; build_image has it done.
#pragma once

#include "backend/programs.h"
#include "builder/build_environment.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::builder {

// Where the labels of images are read again.
inline constexpr const char* image_blueprint_label = "hearth.image.blueprint";
inline constexpr const char* image_checksum_label = "hearth.image.checksum";
inline constexpr const char* image_recipe_label = "hearth.image.recipe";
inline constexpr const char* image_stage_label = "hearth.image.stage";

struct ImageOptions {
  std::string prefix = "hearth-sandbox-";
  // `{version}` is the blueprint's Python version.
  std::string base_image = "python:{version}-slim";
  PipOptions pip{};
  std::string netrc{};    // credentials of the package index, as in that file
  std::string network{};  // for the installation of packages; empty: the engine's default
  backend::Programs programs{};
  std::chrono::milliseconds build_timeout{600'000};
};

struct ImagePlan {
  std::string tag{};         // <prefix><name>:<checksum>
  std::string dockerfile{};  // of two stages if there are packages: nothing of the first stays
  // Everything that decides what the image holds but the wheels themselves; a label of the image.
  // One that says otherwise is stale.
  std::string recipe{};
  std::string stage{};  // names the first stage's images, which are removed: until when, and an id
  bool needs_network = false;
};

// Reads the programs. Throws OsError.
ImagePlan plan_image(const BuildPlan& plan, const ImageOptions& options);

// Whether the build that a stage's label names must have ended: its images are left over.
bool is_stage_over(std::string_view stage, std::chrono::system_clock::time_point now);

// The tar that the engine gets, in memory. Reads wheels. Throws OsError.
std::string image_context(const BuildPlan& plan, const ImageOptions& options,
                          const ImagePlan& image);

}  // namespace hearth::builder
