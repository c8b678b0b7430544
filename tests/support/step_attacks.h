// tests/support/step_attacks.h: what one step of an interactive session can try against the next.
#pragma once

#include <string>

namespace hearth::test {

// `forge(record)`: writes a record past the helpers, with the mark of the running step or another.
inline const std::string forge_records = R"py(
import os
channel = emit_log.__globals__['channel']
def forge(record, mark=None):
    os.write(3, b'0 0 %b %b\n' % (channel.mark if mark is None else mark, record))
)py";

inline const std::string forged_result = R"(b'{"type":"final_result","data":"forged"}')";
inline const std::string forged_end = R"(b'{"type":"end","outcome":"completed"}')";

// A thread that waits until its step is over, then prints, and forges a result and an end: once
// with its step's mark and once without any.
inline const std::string forge_between_steps = forge_records + R"py(
import threading, time
def work():
    while not os.path.exists('/workspace/go'): time.sleep(0.001)
    os.write(1, b'forged text\n')
    os.write(2, b'forged text\n')
    for record in (RESULT, END):
        forge(record)
        os.write(3, b'0 0 ' + record + b'\n')
    open('/workspace/forged', 'w').close()
RESULT, END = )py" + forged_result + ", " + forged_end +
                                               R"py(
threading.Thread(target=work, daemon=True).start()
)py";

// A PLAN run between two steps, until the thread has done what it waits to do.
inline const std::string let_it_forge =
    "import os, time\nopen('/workspace/go', 'w').close()\n"
    "while not os.path.exists('/workspace/forged'): time.sleep(0.001)\n";

// A thread that says all the time that its own step is over.
inline const std::string forge_for_ever = forge_records + R"py(
import threading, time
count, mark = 0, channel.mark
def work():
    global count
    while True:
        forge(END, mark)
        count += 1
        time.sleep(0.001)
END = )py" + forged_end + R"py(
threading.Thread(target=work, daemon=True).start()
)py";

inline const std::string raise_after_ten_more =
    "import time\nbefore = count\nwhile count < before + 10: time.sleep(0.001)\n"
    "raise ValueError('the true end')";

// Claims its end, and goes on without the alarm that would end it.
inline const std::string go_on_after_the_end = forge_records + R"py(
import signal, time
signal.setitimer(signal.ITIMER_REAL, 0)
kept = True
forge()py" + forged_end + R"py()
while True: time.sleep(1000)
)py";

}  // namespace hearth::test
