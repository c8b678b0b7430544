// cli/raw_terminal.h: the terminal of a program in a sandbox: every key goes there as it is.
#pragma once

#include "wire/command_messages.h"

#include <termios.h>

namespace hearth::cli {

// While it lives, a terminal passes everything on: keys like Ctrl-C too.
class RawTerminal {
 public:
  // OsError if `fd` is no terminal.
  explicit RawTerminal(int fd);
  // The terminal is as it was.
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  int fd_;
  termios before_{};
};

// 80 by 24 where the terminal does not know.
wire::TerminalSize size_of_terminal(int fd);

// What a program that was killed cannot take back: the second screen, a hidden cursor, reports of
// the mouse, colours. Nothing of it moves the cursor.
inline constexpr const char* plain_screen =
    "\033[?47l\033[?25h\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?1004l\033[?2004l\033[?1l"
    "\033>\033[m";

}  // namespace hearth::cli
