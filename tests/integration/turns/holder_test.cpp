// The process that holds a worker's memory past its end shares that memory with the script.
#include "tests/support/clean_turn.h"
#include "tests/support/process_script.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

// A stopped and continued process goes back through user space to repeat its system call, and what
// it finds there is the script's to write: here code that forks a process named "survivor".
const std::string take_over_the_holder = std::string(list_processes) + R"py(
import ctypes, mmap, platform, signal, time
def survivors():
    found = []
    for name in os.listdir('/proc'):
        try:
            if name.isdigit() and open('/proc/%s/comm' % name).read() == 'survivor\n': found.append(name)
        except OSError: pass
    return found
def find_holder():
    # The youngest that blocks every signal and sleeps: an earlier one may be on its way out, and
    # this one may not have come to rest.
    while True:
        for pid in sorted((int(p) for p in os.listdir('/proc') if p.isdigit()), reverse=True):
            try:
                status = {line.split()[0]: line.split()[-1] for line in open('/proc/%d/status' % pid)}
                call = open('/proc/%d/syscall' % pid).read().split()
            except OSError: continue
            if pid > 2 and int(status['SigBlk:'], 16) >> 14 & 1 and len(call) > 2:
                return pid, int(call[-1], 16) - 2
def take_over():
    holder, where = find_holder()
    assert ctypes.string_at(where, 2) == b'\x0f\x05'
    code = mmap.mmap(-1, 4096, prot=7)
    start = ctypes.addressof(ctypes.c_char.from_buffer(code))
    name = (start + 2048).to_bytes(8, 'little')
    code[2048:2057] = b'survivor\0'
    fork = b'\xb8\x39\0\0\0\x0f\x05\x85\xc0\x75\x16'
    set_name = b'\xb8\x9d\0\0\0\xbf\x0f\0\0\0\x48\xbe' + name + b'\x0f\x05'
    pause_for_ever = b'\xb8\x22\0\0\0\x0f\x05\xeb\xf7'
    machine_code = fork + set_name + pause_for_ever
    code[:len(machine_code)] = machine_code
    mprotect = ctypes.CDLL(None).mprotect
    mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert mprotect(where & ~4095, 8192, 7) == 0
    ctypes.memmove(where, b'\x48\xb8' + start.to_bytes(8, 'little') + b'\xff\xe0', 12)
    os.kill(holder, signal.SIGSTOP)
    os.kill(holder, signal.SIGCONT)
    while not survivors(): time.sleep(0.001)
    print('taken over')
)py";

bool is_written_for_this_machine(Sandbox& sandbox) {
  return sandbox.run("import platform\nprint(platform.machine())").stdout_text == "x86_64\n";
}

}  // namespace

TEST_CASE("a script that takes over the memory's holder leaves no process behind") {
  Sandbox sandbox;
  if (!is_written_for_this_machine(sandbox)) return;
  const auto attack = sandbox.run(take_over_the_holder + "take_over()");
  CHECK(attack.verdict == Verdict::ok);
  CHECK(attack.stdout_text == "taken over\n");
  const auto next = sandbox.run(take_over_the_holder + "print(survivors())");
  CHECK(next.stdout_text == "[]\n");
  check_clean_turn(sandbox);
}

TEST_CASE("a lease whose steps took over the memory's holder leaves no process behind") {
  Sandbox sandbox;
  if (!is_written_for_this_machine(sandbox)) return;
  CHECK(sandbox.step(take_over_the_holder + "take_over()").stdout_text == "taken over\n");
  CHECK(sandbox.step("print('another step')").verdict == Verdict::ok);
  CHECK(sandbox.step("import os\nos._exit(0)").verdict == Verdict::exited);
  CHECK(sandbox.run(take_over_the_holder + "print(survivors())").stdout_text == "[]\n");

  CHECK(sandbox.step(take_over_the_holder + "take_over()").stdout_text == "taken over\n");
  CHECK(sandbox.reset().clean);
  CHECK(sandbox.run(take_over_the_holder + "print(survivors())").stdout_text == "[]\n");
}
