// cli/image_command.h: `hearth image`: what blueprints were built into.
#pragma once

#include "backend/backend.h"

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

void add_image_command(CLI::App& app, int& result);

// A table for people; `now` in seconds since 1970.
std::string render_images(const std::vector<backend::Built>& images, std::int64_t now);

}  // namespace hearth::cli
