#include "cli/raw_terminal.h"

#include "base/error.h"

#include <sys/ioctl.h>

namespace hearth::cli {

RawTerminal::RawTerminal(int fd) : fd_(fd) {
  if (::tcgetattr(fd, &before_) != 0) throw OsError("read the settings of the terminal");
  termios raw = before_;
  ::cfmakeraw(&raw);
  if (::tcsetattr(fd, TCSANOW, &raw) != 0) throw OsError("change the settings of the terminal");
}

RawTerminal::~RawTerminal() { ::tcsetattr(fd_, TCSANOW, &before_); }

wire::TerminalSize size_of_terminal(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

}  // namespace hearth::cli
