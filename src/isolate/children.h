// isolate/children.h: how the zygote reaps its children. There may be thousands, and it waits for
// none of them.
#pragma once

namespace hearth::isolate {

// Until `reap_children`, an exited child stays a zombie, so that its pid names no other process.
void keep_zombies();
void reap_children();

// A process that was sent into a sandbox's pid namespace and exits at once. The sandbox's init
// cannot exit before this process is reaped.
void note_intermediate(int pid);

}  // namespace hearth::isolate
