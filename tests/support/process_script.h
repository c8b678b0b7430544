// tests/support/process_script.h: Python for scripts that look at their sandbox's processes.
#pragma once

namespace hearth::test {

// `processes()`: the numbers of all but two kinds that are no script's: those that hold a worker's
// memory block every signal, and a child of the harness (2) is between two forks.
inline constexpr const char* list_processes = R"py(
import os
def is_a_helper(pid):
    status = {line.split()[0]: line.split()[-1] for line in open('/proc/%d/status' % pid)}
    return pid != 1 and (status['PPid:'] == '2' or int(status['SigBlk:'], 16) >> 14 & 1)
def processes():
    found = []
    for name in os.listdir('/proc'):
        try:
            if name.isdigit() and not is_a_helper(int(name)): found.append(int(name))
        except OSError: pass
    return sorted(found)
)py";

}  // namespace hearth::test
