// init/workspace_file.h: writes files of the host into the workspace. A script may have left
// anything there, and processes of a step may still change it.
#pragma once

#include "wire/messages.h"

#include <string>

namespace hearth::init {

// Follows no link anywhere below the directory `root` and never blocks. Returns an error that names
// the path, empty on success. A failure after writing has begun removes the file: half of a file is
// worse than none.
std::string write_workspace_file(const std::string& root, const wire::WriteFileRequest& request);

}  // namespace hearth::init
