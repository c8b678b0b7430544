// cli/exit_code.h: what `hearth` tells its caller. Scripts depend on these.
#pragma once

namespace hearth::cli::exit_code {

inline constexpr int ok = 0;
inline constexpr int failure = 1;         // the script's, or Hearth could not do its work
inline constexpr int invalid_input = 2;   // a command line or configuration that makes no sense
inline constexpr int cannot_sandbox = 3;  // this machine lacks something; `hearth doctor` says what
inline constexpr int timed_out = 124;     // as timeout(1)
inline constexpr int not_found = 127;     // a command's program, as a shell says it
inline constexpr int interrupted = 130;   // as a shell after Ctrl-C
inline constexpr int killed = 137;        // for its memory, or by another process

}  // namespace hearth::cli::exit_code
