#include "tests/support/docker_engine.h"

#include "tests/support/run_task.h"

#include <cstdlib>

namespace hearth::test {

docker::EngineAddress engine_address() {
  const char* named = std::getenv("HEARTH_TEST_DOCKER");
  if (named == nullptr)
    throw Error(
        "HEARTH_TEST_DOCKER names no engine: run these tests with ctest, or set it to what "
        "`scripts/docker-engine env` prints");
  return docker::parse_engine_address(named);
}

builder::ImageOptions image_options() {
  builder::ImageOptions options;
  options.programs = backend::find_programs();
  options.pip.no_index = true;
  return options;
}

docker::DockerHostOptions docker_host_options(const std::filesystem::path& state_dir) {
  docker::DockerHostOptions options;
  options.address = engine_address();
  options.state_dir = state_dir;
  return options;
}

blueprint::SandboxConfig docker_config(const std::string& name, std::int64_t pool_size) {
  blueprint::SandboxConfig config;
  config.name = name;
  config.python_version = "3.11";
  config.pool_size = pool_size;
  return config;
}

docker::EngineAnswer call_engine(docker::EngineCall call, const docker::EngineAddress& engine) {
  asio::io_context loop(1);
  docker::EngineClient client(engine);
  return run_task(loop, client.call(std::move(call)));
}

namespace {

std::string filter_for(const std::string& label) {
  return docker::url_encode(
      boost::json::serialize(boost::json::object{{"label", boost::json::array{label}}}));
}

}  // namespace

boost::json::array containers_with(const std::string& label, const docker::EngineAddress& engine) {
  return call_engine({.path = "/containers/json?all=1&filters=" + filter_for(label)}, engine)
      .body.as_array();
}

boost::json::array images_with(const std::string& label) {
  return call_engine({.path = "/images/json?all=1&filters=" + filter_for(label)}).body.as_array();
}

void remove_image(const std::string& name) {
  call_engine({.method = "DELETE", .path = "/images/" + name + "?force=1", .accepted = {404}});
}

}  // namespace hearth::test
