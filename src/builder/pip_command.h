// builder/pip_command.h: how pip is called. Decides only; build_environment runs it.
#pragma once

#include "registry/digest.h"

#include <filesystem>
#include <map>
#include <string>
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

// What the operator who wants them has to write.
inline constexpr const char* source_builds_key = "allow_source_builds = true in [builder]";

// For `python`. Works with every pip that a Python 3.8 or newer comes with. Debian's
// EXTERNALLY-MANAGED is about the interpreter's own directories; --target is none of them.
std::vector<std::string> pip_arguments(const PipOptions& options,
                                       const std::filesystem::path& target,
                                       const std::filesystem::path& requirements);

// What `python -m compileall` is told. Once whole, an environment never changes: its bytecode is
// good without a look at the sources, whatever becomes of their times in a copy.
std::vector<std::string> compile_arguments(const std::vector<std::filesystem::path>& trees);

// The environment of everything that runs during a build. Only what is named here passes from the
// caller's: the search path, proxies and certificates. Not PIP_*, not pip.conf, not ~/.cache: the
// same blueprint must not become something else because of who started Hearth. `home` must exist;
// it is also for temporary files. `netrc`, if not empty, is what netrc_file() is seen as.
std::vector<std::string> build_variables(const PipOptions& options,
                                         const std::filesystem::path& home,
                                         const std::filesystem::path& netrc = {});

// The files that pip reads by these options and variables, as far as they exist: directories of
// wheels, an index or packages in files, certificates.
std::vector<std::filesystem::path> files_of_pip(const PipOptions& options,
                                                const std::vector<std::string>& packages);

// The file with the index's credentials that NETRC names; empty if there is none.
std::filesystem::path netrc_file();

bool is_direct_reference(const std::string& package);

// Why a build cannot be done with what the operator allows; empty if it can.
std::string problem_of(const PipOptions& options, const std::vector<std::string>& packages);

// What pip's `reason` leaves out: that there may be a source archive. Empty if it is something
// else.
std::string hint_to(const std::string& reason, const PipOptions& options);

// Of these, what whoever installs packages elsewhere needs: HTTP_PROXY and its like, as set here.
std::map<std::string, std::string> proxy_variables();

}  // namespace hearth::builder
