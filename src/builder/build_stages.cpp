#include "builder/build_stages.h"

#include "builder/image_plan.h"
#include "docker/json_path.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include <chrono>

namespace hearth::builder {
namespace {

namespace json = boost::json;
using docker::image_id_at;
using docker::text_at;

// How many there were.
Task<std::size_t> remove_once(docker::EngineClient& client, const std::string& stage) {
  const std::string filter =
      docker::url_encode(json::serialize(json::object{{"label", json::array{image_stage_label}}}));
  const docker::EngineAnswer found =
      co_await client.call({.path = "/images/json?all=1&filters=" + filter});
  std::size_t count = 0;
  const json::array* list = found.body.if_array();
  if (list == nullptr) co_return count;
  for (const json::value& image : *list) {
    const std::string its = text_at(image, {"Labels", image_stage_label});
    const std::string id = image_id_at(image, {"Id"});
    if (id.empty()) continue;
    if (its != stage && !is_stage_over(its, std::chrono::system_clock::now())) continue;
    ++count;
    // A layer goes with the last that stands on it: some are gone before their turn. 409: a
    // container that is being ended still uses it.
    co_await client.call({.method = "DELETE",
                          .path = "/images/" + id + "?force=1",
                          .limit = std::chrono::seconds(60),
                          .accepted = {404, 409}});
  }
  co_return count;
}

}  // namespace

Task<> remove_stages(docker::EngineClient& client, std::string stage) {
  constexpr int attempts = 40;
  asio::steady_timer pause(co_await asio::this_coro::executor);
  int seen_none = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    seen_none = co_await remove_once(client, stage) == 0 ? seen_none + 1 : 0;
    if (seen_none == 2) co_return;
    pause.expires_after(std::chrono::milliseconds(250));
    co_await pause.async_wait(asio::use_awaitable);
  }
  throw Error("images of a build that is over cannot be removed from the engine (label " +
              std::string(image_stage_label) + "): they hold its wheels and credentials");
}

}  // namespace hearth::builder
