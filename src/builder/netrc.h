// builder/netrc.h: the credentials that a build gets of the file that NETRC names: those of the
// hosts that it is meant to ask. A package's metadata may name any other host, and pip would send
// it what the file has for that host, or for `default`.
#pragma once

#include "builder/pip_command.h"

#include <string>
#include <string_view>
#include <vector>

namespace hearth::builder {

// The hosts of the index and of packages that are direct references, in lower case.
std::vector<std::string> hosts_of_pip(const PipOptions& options,
                                      const std::vector<std::string>& packages);

// The entries of these hosts, each in a line of its own. Without `default`, macros and comments,
// and without what follows a word that no such file can have there. Empty if there is none.
std::string netrc_for(std::string_view netrc, const std::vector<std::string>& hosts);

}  // namespace hearth::builder
