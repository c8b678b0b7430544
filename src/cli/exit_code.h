// cli/exit_code.h: what `hearth` tells its caller. Scripts depend on these.
#pragma once

namespace hearth::cli::exit_code {

inline constexpr int ok = 0;
inline constexpr int failure = 1;        // Hearth could not do its work
inline constexpr int invalid_input = 2;  // a configuration that is not valid
inline constexpr int usage = 64;         // a command line that makes no sense

}  // namespace hearth::cli::exit_code
