// Ten thousand turns, each leaving its mark wherever a script can, each looking for the marks of
// others. In four parts, so that they run side by side.
#include "tests/support/process_script.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

#include <string>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

constexpr int turns_per_part = 2500;

// First looks, then leaves. What it finds is its result.
const std::string look_and_leave = std::string(list_processes) + R"py(
import builtins, ctypes, json, sys, threading, time
found = []
if hasattr(builtins, 'nonce'): found.append('builtins')
if 'nonce_module' in sys.modules: found.append('modules')
if hasattr(json.dumps, 'nonce'): found.append('a patched module')
if 'NONCE' in os.environ: found.append('environment')
for folder in ('/workspace', '/tmp', '/dev/shm'):
    found += [folder + '/' + name for name in os.listdir(folder)]
def describe(pid):
    words = open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()
    return 'process %d of %s, %s' % (pid, words[1], words[0])
for pid in processes():
    try:
        if pid not in (1, 2, os.getpid()): found.append(describe(pid))
    except OSError: pass
if threading.active_count() > 1: found.append('threads')
shared = open('/proc/sysvipc/shm').read().splitlines()[1:]
if shared: found.append('shared memory')

builtins.nonce = sys.modules['nonce_module'] = os.environ['NONCE'] = 'mine'
def dumps(*args, **kwargs): return 'hijacked'
dumps.nonce = True
json.dumps = dumps
for folder in ('/workspace', '/tmp', '/dev/shm'):
    os.makedirs(folder + '/.nonce/deep')
    open(folder + '/.nonce/deep/file', 'w').close()
    os.symlink('/', folder + '/link')
os.chmod('/workspace/.nonce', 0)
ctypes.CDLL(None).shmget(0, 4096, 0o1600)
if os.fork() == 0:
    os.setsid()
    if os.fork() > 0: os._exit(0)
    time.sleep(1000)
emit_result(found)
)py";

void run_part() {
  Sandbox sandbox;
  for (int turn = 0; turn < turns_per_part; ++turn) {
    const auto result = sandbox.run(look_and_leave);
    REQUIRE(result.verdict == Verdict::ok);
    REQUIRE(result.result);
    REQUIRE(result.result->text == "[]");
    const wire::ResetDone reset = sandbox.reset();
    CAPTURE(reset.message);
    REQUIRE(reset.clean);
  }
}

}  // namespace

TEST_CASE("H9: no turn sees what another one left, part 1 of 10,000 turns") { run_part(); }
TEST_CASE("H9: no turn sees what another one left, part 2 of 10,000 turns") { run_part(); }
TEST_CASE("H9: no turn sees what another one left, part 3 of 10,000 turns") { run_part(); }
TEST_CASE("H9: no turn sees what another one left, part 4 of 10,000 turns") { run_part(); }

TEST_CASE(
    "P43: without a reset, no turn sees another one's modules, builtins, environment, threads or "
    "processes") {
  Sandbox sandbox;
  for (int turn = 0; turn < 200; ++turn) {
    const auto result = sandbox.run(std::string(list_processes) + R"py(
import builtins, json, subprocess, sys, threading, time
found = [name for name, there in (
    ('builtins', hasattr(builtins, 'nonce')), ('modules', 'nonce_module' in sys.modules),
    ('json', hasattr(json, 'nonce')), ('environment', 'NONCE' in os.environ),
    ('threads', threading.active_count() > 1),
    ('processes', any(pid not in (1, 2, os.getpid()) for pid in processes()))) if there]
builtins.nonce = sys.modules['nonce_module'] = json.nonce = os.environ['NONCE'] = 'mine'
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
subprocess.Popen(['sleep', '1000'], start_new_session=True)
emit_result(found)
)py");
    REQUIRE(result.verdict == Verdict::ok);
    REQUIRE(result.result->text == "[]");
  }
}
