// settings/found_configuration.h: what a hearth.toml may not say that was merely found in the
// current directory. Such a file may come with a checked-out repository: it describes sandboxes of
// what is in that directory, and reaches for nothing of its user outside of it.
#pragma once

#include "settings/settings.h"

#include <filesystem>

namespace hearth::settings {

// `settings` with absolute paths, `directory` is the one of the file. Symbolic links are followed:
// one that leads out of the directory does not belong to it.
blueprint::Problems problems_of_found_configuration(const Settings& settings,
                                                    const std::filesystem::path& directory);

}  // namespace hearth::settings
