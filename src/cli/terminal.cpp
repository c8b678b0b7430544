#include "cli/terminal.h"

#include <unistd.h>

namespace hearth::cli {

bool wants_colours(int fd, const settings::Env& env) {
  const auto no_color = env.find("NO_COLOR");
  if (no_color != env.end() && !no_color->second.empty()) return false;
  const auto terminal = env.find("TERM");
  if (terminal != env.end() && terminal->second == "dumb") return false;
  return ::isatty(fd) == 1;
}

bool has_terminal() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

}  // namespace hearth::cli
