// init/workspace_file.h: files that the host puts into the workspace. A script may have left
// anything there, and a step's processes may still be at work on it.
#pragma once

#include "wire/messages.h"

#include <string>

namespace hearth::init {

// Does what `request` asks for below the directory `root`. Follows no link at any place and waits
// for nobody. Returns why it could not, naming the path; empty when it could. Once writing has
// begun, a failure removes the file: half of one is worse than none.
std::string write_workspace_file(const std::string& root, const wire::WriteFileRequest& request);

}  // namespace hearth::init
