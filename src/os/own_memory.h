// os/own_memory.h: keeps the secrets in this process's memory from others.
#pragma once

namespace hearth::os {

// No core dump, now or of programs started from here; no other process of the same user can read
// the memory, environment or descriptors of this one, or attach a debugger to it. A process that
// executes another program does not pass the latter on. For the start of main(): `hearth` does it,
// a program that embeds Hearth decides for itself. Throws OsError.
void hide_own_memory();

// No core file, and no program that core_pattern names. Inherited by children; the limit is 1 where
// it may be, as the kernel starts that program with 0.
void forbid_cores();

}  // namespace hearth::os
