// init/process_scope.h: keeps a process and its children from signalling, tracing and opening
// processes outside, where the kernel's Landlock can. A worker has the same, see
// isolate/landlock.h.
#pragma once

namespace hearth::init {

// Of the calling process, for good. No effect on a kernel or in a container without Landlock.
void enter_process_scope();

}  // namespace hearth::init
