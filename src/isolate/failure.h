// isolate/failure.h: which step of isolation failed, and the report of it.
#pragma once

namespace hearth::isolate {

// Notes the step, and returns false. `errno` must still be that of the failure when it is reported.
bool fail(const char* step);

// Report the step and `errno`, and exit.
[[noreturn]] void exit_sandbox(int stream);    // to the host, on the sandbox's stream
[[noreturn]] void exit_worker(int emit_pipe);  // to init

}  // namespace hearth::isolate
