// tests/support/docker_engine.h: the engine that scripts/docker-engine started for the tests.
#pragma once

#include "builder/image_builder.h"
#include "docker/docker_engine.h"
#include "docker/engine_client.h"
#include "settings/settings.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include <string>
#include <vector>

namespace hearth::test {

// Several tests may use the engine at once, unless one of them wants it alone.
docker::EngineAddress engine_address();
// Until the end of this process. For a test that prunes: that takes away whatever is unused at
// the moment, and another test may be just about to.
void use_engine_alone();
builder::ImageOptions image_options();
docker::DockerEngineOptions docker_host_options(const std::filesystem::path& state_dir);
// For runtimes of tests: containers, wheels from nowhere, and everything they keep in `state_dir`.
settings::Settings docker_settings(const std::filesystem::path& state_dir,
                                   settings::Settings settings = {},
                                   std::vector<blueprint::SandboxConfig> blueprints = {});

// For blueprints of tests: the Python of the image that takes the place of python:3.11-slim.
blueprint::SandboxConfig docker_config(const std::string& name = "default",
                                       std::int64_t pool_size = 1);

// One call on a loop of its own.
docker::EngineAnswer call_engine(docker::EngineCall call,
                                 const docker::EngineAddress& engine = engine_address());
// What `docker ps -a --filter label=...` lists: containers in any state, whole objects.
boost::json::array containers_with(const std::string& label,
                                   const docker::EngineAddress& engine = engine_address());
boost::json::array images_with(const std::string& label);
void remove_image(const std::string& name);

}  // namespace hearth::test
