#include "tests/support/docker_engine.h"

#include "base/error.h"
#include "os/unique_fd.h"
#include "tests/support/run_task.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace hearth::test {

namespace {

// Held on the directory of its socket, which outlives no engine.
void lock_engine(const docker::EngineAddress& engine, int kind) {
  static const os::UniqueFd directory(
      ::open(std::filesystem::path(engine.socket).parent_path().c_str(),
             O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (::flock(directory.get(), kind) != 0)
    if (errno != EINTR) throw OsError("lock the engine of the tests");
}

docker::EngineAddress named_engine() {
  const char* named = std::getenv("HEARTH_TEST_DOCKER");
  if (named == nullptr)
    throw Error(
        "HEARTH_TEST_DOCKER names no engine: run these tests with ctest, or set it to what "
        "`scripts/docker-engine env` prints");
  return docker::parse_engine_address(named);
}

}  // namespace

docker::EngineAddress engine_address() {
  docker::EngineAddress engine = named_engine();
  static const bool is_shared = (lock_engine(engine, LOCK_SH), true);
  (void)is_shared;
  return engine;
}

void use_engine_alone() { lock_engine(engine_address(), LOCK_EX); }

builder::ImageOptions image_options() {
  builder::ImageOptions options;
  options.programs = backend::find_programs();
  options.pip.no_index = true;
  return options;
}

docker::DockerEngineOptions docker_host_options(const std::filesystem::path& state_dir) {
  docker::DockerEngineOptions options;
  options.address = engine_address();
  options.state_dir = state_dir;
  return options;
}

settings::Settings docker_settings(const std::filesystem::path& state_dir,
                                   settings::Settings settings,
                                   std::vector<blueprint::SandboxConfig> blueprints) {
  settings.state.dir = state_dir;
  settings.pool.backend = "docker";
  settings.builder.no_index = true;
  if (settings.docker.host.empty()) settings.docker.host = engine_address().text();
  settings.blueprints = std::move(blueprints);
  return settings;
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
