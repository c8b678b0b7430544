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

namespace {

// An image's id without the name of its digest.
std::string key_of(const std::string& id) { return id.substr(id.find(':') + 1); }

// An image without a record is not pruned, which is no reason not to use it.
void note_use(const UseRecords& records, const BuiltImage& image, const BuildPlan& plan) try {
  records.note(key_of(image.id), plan.blueprint, plan.python_version, plan.packages);
} catch (const Error& error) {
  log::warning("use of an image cannot be recorded",
               {{"image", image.tag}, {"error", error.what()}});
}

}  // namespace

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
  co_return co_await run(image_build_plan(registry_, std::move(name), options_),
                         std::move(on_line));
}

Task<std::string> ImageBuilder::rebuild_sandbox(std::string name, OnProgress on_line) {
  BuildPlan plan = image_build_plan(registry_, std::move(name), options_);
  plan.is_anew = true;
  co_return (co_await run(std::move(plan), std::move(on_line))).tag;
}

Task<BuiltImage> ImageBuilder::run(BuildPlan plan, OnProgress on_line) {
  const std::string key = plan.blueprint + ':' + plan.checksum + (plan.is_anew ? " anew" : "");
  // Copies: the build may outlive this caller.
  SharedWork<BuiltImage>::Job build = [plan = std::move(plan), options = options_, engine = engine_,
                                       records = records()](const std::stop_token& stop,
                                                            const auto& report) {
    BuiltImage image = build_image(plan, options, engine, stop, report);
    note_use(records, image, plan);
    return image;
  };
  co_return co_await builds_.run(key, std::move(build), std::move(on_line));
}

UseRecords ImageBuilder::records() const {
  return {options_.state_dir.empty() ? options_.state_dir : options_.state_dir / "locks",
          options_.configuration};
}

Task<std::set<std::string>> ImageBuilder::images_in_use() {
  const docker::EngineAnswer found = co_await client_.call({.path = "/containers/json?all=1"});
  std::set<std::string> images;
  if (const json::array* list = found.body.if_array())
    for (const json::value& one : *list) images.insert(text_at(one, {"ImageID"}));
  co_return images;
}

Task<std::vector<Built>> ImageBuilder::list() {
  std::vector<Built> list;
  for (Image& image : co_await images()) list.push_back(std::move(image.built));
  co_return list;
}

Task<std::vector<ImageBuilder::Image>> ImageBuilder::images() {
  std::set<std::string> wanted;
  for (const std::string& name : registry_.blueprint_names())
    wanted.insert(image_tag(image_build_plan(registry_, name, options_), options_));
  const std::set<std::string> in_use = co_await images_in_use();
  const std::string filter =
      docker::url_encode(json::serialize(json::object{{"label", json::array{image_recipe_label}}}));
  const docker::EngineAnswer found =
      co_await client_.call({.path = "/images/json?filters=" + filter});
  std::vector<Image> images;
  const json::array* list = found.body.if_array();
  if (list == nullptr) co_return images;
  for (const json::value& one : *list) {
    Built built;
    built.blueprints = {text_at(one, {"Labels", image_blueprint_label})};
    built.checksum = text_at(one, {"Labels", image_checksum_label});
    built.size_bytes = number_at(one, {"Size"});
    built.created = static_cast<std::int64_t>(number_at(one, {"Created"}));
    const std::string id = docker::image_id_at(one, {"Id"});
    if (id.empty()) continue;
    built.is_in_use = in_use.contains(id);
    if (const auto record = records().find(key_of(id))) {
      built.python = record->python;
      built.packages = record->packages;
      built.last_used = record->last_used();
      built.configurations = record->configurations();
    }
    // An image that was rebuilt has lost its tag to the newer one. Tags without the prefix are not
    // ours.
    built.name = id;
    const json::array* names = at(one, {"RepoTags"}).if_array();
    for (std::size_t i = 0; names != nullptr && i < names->size(); ++i)
      if (const json::string& tag = (*names)[i].as_string(); tag.starts_with(options_.prefix))
        built.name = std::string(tag);
    built.is_wanted = wanted.contains(built.name);
    // Tagged with another prefix: it belongs to another configuration.
    const bool is_ours = built.name.starts_with(options_.prefix);
    if (!is_ours && names != nullptr && !names->empty()) continue;
    images.push_back({std::move(built), id});
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

Task<std::vector<std::string>> ImageBuilder::prune(Prune how) {
  if (!how.is_dry_run) co_await remove_stages(client_, {});
  std::vector<std::string> removed;
  for (const Image& image : co_await images()) {
    if (image.built.is_wanted || image.built.is_in_use) continue;
    const std::string key = key_of(image.id);
    const bool goes = how.all ? records().find(key).has_value() : records().is_ours_alone(key);
    if (!goes) {
      if (!how.is_dry_run) records().forget(key);
      continue;
    }
    if (!how.is_dry_run && !co_await remove(image.built.name)) continue;
    if (!how.is_dry_run) records().remove(key);
    removed.push_back(image.built.name);
  }
  co_return removed;
}

}  // namespace hearth::builder
