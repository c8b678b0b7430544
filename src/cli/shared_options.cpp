#include "cli/shared_options.h"

#include "os/read_file.h"
#include "runtime/backends.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstddef>

namespace hearth::cli {

void add_backend_option(CLI::App& command, RunOptions& options) {
  command
      .add_option("--backend", options.backend,
                  "What makes the sandboxes, instead of the configuration's pool.backend")
      ->check(CLI::IsMember(runtime::names_of(runtime::usual_backends())));
}

std::string read_script(const std::string& file) {
  constexpr std::size_t most_bytes = std::size_t{8} << 20;
  if (file == "-") return os::read_rest(STDIN_FILENO, "standard input", most_bytes);
  return os::read_file(file, most_bytes);
}

}  // namespace hearth::cli
