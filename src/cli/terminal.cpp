#include "cli/terminal.h"

#include <unistd.h>

namespace hearth::cli {

bool wants_colours(int fd, const settings::Env& environment) {
  const auto no_color = environment.find("NO_COLOR");
  if (no_color != environment.end() && !no_color->second.empty()) return false;
  const auto terminal = environment.find("TERM");
  if (terminal != environment.end() && terminal->second == "dumb") return false;
  return ::isatty(fd) == 1;
}

}  // namespace hearth::cli
