#include "builder/image_builder.h"

#include "base/log.h"
#include "builder/build_stages.h"
#include "docker/json_path.h"

#include <boost/json.hpp>

#include <utility>

namespace hearth::builder {

namespace json = boost::json;
using docker::at;
using docker::number_at;
using docker::text_at;

Task<std::unique_ptr<ImageBuilder>> ImageBuilder::open(asio::any_io_executor loop,
                                                       const registry::ToolRegistry& registry,
                                                       docker::EngineAddress engine,
                                                       ImageOptions options,
                                                       std::size_t parallel_builds) {
  std::unique_ptr<ImageBuilder> builder(new ImageBuilder(
      std::move(loop), registry, std::move(engine), std::move(options), parallel_builds));
  co_await builder->client_.ping();
  co_return builder;
}

ImageBuilder::ImageBuilder(asio::any_io_executor loop, const registry::ToolRegistry& registry,
                           docker::EngineAddress engine, ImageOptions options,
                           std::size_t parallel_builds)
    : registry_(registry),
      engine_(engine),
      client_(std::move(engine)),
      options_(std::move(options)),
      builds_(std::move(loop), parallel_builds) {}

Task<std::string> ImageBuilder::ensure_sandbox(std::string name, OnProgress on_line) {
  co_return (co_await ensure_image(std::move(name), std::move(on_line))).tag;
}

Task<BuiltImage> ImageBuilder::ensure_image(std::string name, OnProgress on_line) {
  // Copies: the build may outlive this caller.
  const BuildPlan plan = image_build_plan(registry_, std::move(name), options_);
  SharedWork<BuiltImage>::Job build = [plan, options = options_, engine = engine_](
                                          const std::stop_token& stop, const auto& report) {
    return build_image(plan, options, engine, stop, report);
  };
  co_return co_await builds_.run(plan.blueprint + ':' + plan.checksum, std::move(build),
                                 std::move(on_line));
}

Task<std::set<std::string>> ImageBuilder::images_in_use() {
  const docker::EngineAnswer found = co_await client_.call({.path = "/containers/json?all=1"});
  std::set<std::string> images;
  if (const json::array* list = found.body.if_array())
    for (const json::value& one : *list) images.insert(text_at(one, {"ImageID"}));
  co_return images;
}

Task<std::vector<Built>> ImageBuilder::list() {
  std::set<std::string> wanted;
  for (const std::string& name : registry_.blueprint_names())
    wanted.insert(image_tag(image_build_plan(registry_, name, options_), options_));
  const std::set<std::string> in_use = co_await images_in_use();
  const std::string filter =
      docker::url_encode(json::serialize(json::object{{"label", json::array{image_recipe_label}}}));
  const docker::EngineAnswer found =
      co_await client_.call({.path = "/images/json?filters=" + filter});
  std::vector<Built> images;
  const json::array* list = found.body.if_array();
  if (list == nullptr) co_return images;
  for (const json::value& one : *list) {
    Built built;
    built.blueprint = text_at(one, {"Labels", image_blueprint_label});
    built.checksum = text_at(one, {"Labels", image_checksum_label});
    built.size_bytes = number_at(one, {"Size"});
    built.created = static_cast<std::int64_t>(number_at(one, {"Created"}));
    built.is_in_use = in_use.contains(text_at(one, {"Id"}));
    // An image that was rebuilt has lost its tag to the newer one. Tags without the prefix are not
    // ours.
    built.name = text_at(one, {"Id"});
    const json::array* names = at(one, {"RepoTags"}).if_array();
    for (std::size_t i = 0; names != nullptr && i < names->size(); ++i)
      if (const json::string& tag = (*names)[i].as_string(); tag.starts_with(options_.prefix))
        built.name = std::string(tag);
    built.is_wanted = wanted.contains(built.name);
    // Tagged with another prefix: it belongs to another configuration.
    const bool is_ours = built.name.starts_with(options_.prefix);
    if (!is_ours && names != nullptr && !names->empty()) continue;
    images.push_back(std::move(built));
  }
  co_return images;
}

// True if it is gone. One that cannot be removed does not keep the rest.
Task<bool> ImageBuilder::remove(std::string image) try {
  // 409: a container uses it by now, so it is kept.
  const docker::EngineAnswer answer = co_await client_.call({.method = "DELETE",
                                                             .path = "/images/" + image,
                                                             .limit = std::chrono::seconds(60),
                                                             .accepted = {404, 409}});
  co_return answer.status < 300;
} catch (const docker::EngineError& error) {
  log::warning("image cannot be removed", {{"image", image}, {"error", error.what()}});
  co_return false;
}

Task<std::vector<std::string>> ImageBuilder::prune() {
  co_await remove_stages(client_, {});
  std::vector<std::string> removed;
  for (const Built& image : co_await list())
    if (!image.is_wanted && !image.is_in_use && co_await remove(image.name))
      removed.push_back(image.name);
  co_return removed;
}

}  // namespace hearth::builder
