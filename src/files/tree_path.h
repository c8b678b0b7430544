// files/tree_path.h: where a link of a tree leads.
#pragma once

#include <string>

namespace hearth::files {

// True if following the link at `path` to `target` could lead out of the tree, wherever that is
// unpacked. Inside a sandbox such links are harmless, and usual: a virtual environment has some.
bool leads_out(const std::string& path, const std::string& target);

}  // namespace hearth::files
