// builder/pip_command.h: how pip is called. Decides only; build_environment runs it.
#pragma once

#include "registry/digest.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::builder {

struct PipOptions {
  std::string index_url{};                          // empty: pip's own, PyPI
  std::vector<std::filesystem::path> find_links{};  // directories with wheels (or source archives)
  bool no_index = false;                            // only find_links
  // Source archives and direct references (`name @ url`), both of which run code of their own while
  // they are installed. Without it only wheels are.
  bool allow_source_builds = false;
};

// Where packages come from is part of what an environment is: a package of the same name from
// another place is another package.
void add_sources(registry::Digest& digest, const PipOptions& options);

// What an operator has to write to allow them.
inline constexpr const char* source_builds_key = "allow_source_builds = true in [builder]";

// For `python`. Works with every pip that a Python 3.8 or newer comes with. Debian's
// EXTERNALLY-MANAGED is about the interpreter's own directories; --target is none of them.
std::vector<std::string> pip_arguments(const PipOptions& options,
                                       const std::filesystem::path& target,
                                       const std::filesystem::path& requirements);

// The arguments of `python -m compileall`. A finished environment never changes, so its bytecode is
// valid without a check of the sources, even if a copy changes their times.
std::vector<std::string> compile_arguments(const std::vector<std::filesystem::path>& trees);

// The env of everything that runs during a build. Only the search path, proxies and certificates
// are taken from the caller's. PIP_*, pip.conf and ~/.cache are not: a blueprint must mean the same
// whichever user starts Hearth. `home` must exist; it is also for temporary files. `netrc`, if not
// empty, is where the build sees what it gets of netrc_file().
std::vector<std::string> build_variables(const PipOptions& options,
                                         const std::filesystem::path& home,
                                         const std::filesystem::path& netrc = {});

// The files of a directory in find_links that pip may see: wheels, and source archives if they are
// allowed. Not HTML, which pip would read as a page of links to anywhere, and no link, which may
// lead to any file that this user can read. Sorted.
std::vector<std::filesystem::path> archives_in(const std::filesystem::path& directory,
                                               const PipOptions& options);

// The files that pip reads by these options and variables, as far as they exist: archives in
// find_links, an index or packages in files, certificates.
std::vector<std::filesystem::path> files_of_pip(const PipOptions& options,
                                                const std::vector<std::string>& packages);

// The file with the index's credentials that NETRC names; empty if there is none.
std::filesystem::path netrc_file();

bool is_direct_reference(const std::string& package);

// Why a build cannot be done with what the operator allows; empty if it can.
std::string problem_of(const PipOptions& options, const std::vector<std::string>& packages);

// What keeps pip from its index, by its log; empty if it is something else. It retries, and ends
// with a complaint that sounds like a misspelt name.
std::string unreachable_index(std::string_view log);

// What pip's `reason` leaves out: the name that was probably meant, or that there may be a source
// archive. Empty if it is something else.
std::string hint_to(const std::string& reason, const PipOptions& options);

// Those of them that a build elsewhere needs, too: HTTP_PROXY and the like, as set here.
std::map<std::string, std::string> proxy_variables();

}  // namespace hearth::builder
