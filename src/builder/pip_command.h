// builder/pip_command.h: how pip is called. Decides only; build_environment runs it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hearth::builder {

struct PipOptions {
  std::string index_url{};                          // empty: pip's own, PyPI
  std::vector<std::filesystem::path> find_links{};  // directories with wheels or source archives
  bool no_index = false;                            // only find_links
};

// For `python`. Works with every pip that a Python 3.8 or newer comes with. Debian's
// EXTERNALLY-MANAGED is about the interpreter's own directories; --target is none of them.
std::vector<std::string> pip_arguments(const PipOptions& options,
                                       const std::filesystem::path& target,
                                       const std::filesystem::path& requirements);

// What `python -m compileall` is told. Once whole, an environment never changes: its bytecode is
// good without a look at the sources, whatever becomes of their times in a copy.
std::vector<std::string> compile_arguments(const std::vector<std::filesystem::path>& trees);

// The environment of everything that runs during a build. Only what is named here passes from the
// caller's: the search path, proxies, certificates and the file with the index's credentials
// (NETRC). Not PIP_*, not pip.conf, not ~/.cache: the same blueprint must not become something else
// because of who started Hearth. `home` must exist; it is also for temporary files.
std::vector<std::string> build_variables(const PipOptions& options,
                                         const std::filesystem::path& home);

// Of these, what whoever installs packages elsewhere needs: HTTP_PROXY and its like, as set here.
std::map<std::string, std::string> proxy_variables();

}  // namespace hearth::builder
