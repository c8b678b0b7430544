// builder/image_plan.h: what an image is made of. Decides only; build_image builds it.
#pragma once

#include "backend/programs.h"
#include "builder/build_environment.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::builder {

// Labels of images.
inline constexpr const char* image_blueprint_label = "hearth.image.blueprint";
inline constexpr const char* image_checksum_label = "hearth.image.checksum";
inline constexpr const char* image_recipe_label = "hearth.image.recipe";
inline constexpr const char* image_stage_label = "hearth.image.stage";

struct ImageOptions {
  std::string prefix = "hearth-sandbox-";
  // `{version}` is the blueprint's Python version.
  std::string base_image = "python:{version}-slim";
  // The same for the stage that installs packages, if they may be built from sources. Of it nothing
  // else stays. Empty: base_image without "-slim".
  std::string build_image{};
  bool has_tools = true;  // false: they are mounted into each container
  PipOptions pip{};
  std::string netrc{};    // the text of that file; a build gets what netrc.h says
  std::string network{};  // for the installation of packages; empty: the engine's default
  backend::Programs programs{};
  std::chrono::milliseconds build_timeout{600'000};
  // For records of use; without a state directory there are none, and nothing is pruned.
  std::filesystem::path state_dir{};
  std::string configuration{};
};

std::string base_image(const BuildPlan& plan, const ImageOptions& options);
// The base of the stage that installs packages.
std::string image_for_packages(const BuildPlan& plan, const ImageOptions& options);

struct ImagePlan {
  std::string tag{};
  std::string dockerfile{};  // of two stages if there are packages: nothing of the first stays
  // A digest of everything that decides what the image holds but the wheels themselves; a label of
  // the image. An image with another one is stale.
  std::string recipe{};
  std::string stage{};  // names the first stage's images, which are removed: until when, and an id
  bool needs_network = false;
};

// As the image of a blueprint needs it. Throws UnknownBlueprint.
BuildPlan image_build_plan(const registry::ToolRegistry& registry, std::string blueprint,
                           const ImageOptions& options);

// <prefix><name>:<checksum>. The checksum covers the blueprint's environment, where its packages
// come from and the programs of Hearth in the image. So two versions of Hearth, or two
// configurations, at one engine do not replace each other's images. Reads the programs. Throws
// OsError.
std::string image_tag(const BuildPlan& plan, const ImageOptions& options);

// Reads the programs. Throws OsError.
ImagePlan plan_image(const BuildPlan& plan, const ImageOptions& options);

// True if the build that a stage's label names must have ended: its images are leftovers.
bool is_stage_over(std::string_view stage, std::chrono::system_clock::time_point now);

// The tar archive for the engine, in memory. Reads programs and wheels. Throws OsError.
std::string image_context(const BuildPlan& plan, const ImageOptions& options,
                          const ImagePlan& image);

}  // namespace hearth::builder
