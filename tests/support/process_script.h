// tests/support/process_script.h: Python for scripts that look at their sandbox's processes.
#pragma once

namespace hearth::test {

// `processes()`: the numbers of all, but for those that only hold a worker's memory: these block
// every signal.
inline constexpr const char* list_processes = R"py(
import os
def holds_memory(pid):
    lines = (line.split() for line in open('/proc/%d/status' % pid))
    return pid != 1 and any(line[0] == 'SigBlk:' and int(line[1], 16) >> 14 & 1 for line in lines)
def processes():
    found = []
    for name in os.listdir('/proc'):
        try:
            if name.isdigit() and not holds_memory(int(name)): found.append(int(name))
        except OSError: pass
    return sorted(found)
)py";

}  // namespace hearth::test
