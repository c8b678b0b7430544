"""The process a script finds itself in."""

import os
import signal

from tests.fake_init import Harness, SharedHarness

TOOL = "import socket, os, random\nkept = socket.socket()\nfd = os.open('/dev/null', os.O_RDONLY)\n"


class Surroundings(SharedHarness):
    options = {"tools": {"a.py": TOOL}, "arguments": ["--preload", "random"]}

    def printed(self, script, **options):
        turn = self.run_script(script, **options)
        self.assertEqual(turn.of("error"), [])
        return turn.stdout.rstrip("\n")

    def test_H1_one_harness_serves_many_turns_each_in_a_process_of_its_own(self):
        pids = {self.printed("import os; print(os.getpid())") for _ in range(3)}
        self.assertEqual(len(pids), 3)
        self.assertIsNone(self.harness.process.poll())

    def test_the_worker_is_a_child_of_init(self):
        self.assertEqual(self.printed("import os; print(os.getppid())"), str(os.getpid()))

    def test_exactly_five_descriptors_are_open(self):
        script = (
            "import os\nopen_fds = []\nfor fd in range(4096):\n    try:\n"
            "        os.fstat(fd)\n        open_fds.append(fd)\n"
            "    except OSError: pass\nprint(open_fds, [os.get_inheritable(fd) for fd in open_fds])"
        )
        self.assertEqual(self.printed(script), "[0, 1, 2, 3, 4] [True, True, True, False, False]")

    def test_a_program_the_script_starts_gets_only_the_three_standard_descriptors(self):
        script = (
            "import os, subprocess\n"
            "print(subprocess.run(['ls', '/proc/self/fd'], stdout=subprocess.PIPE, "
            "close_fds=False).stdout.split())"
        )
        self.assertEqual(self.printed(script), "[b'0', b'1', b'2', b'3']")  # the fourth is ls's own

    def test_descriptors_may_come_with_any_numbers(self):
        # The number of the control socket decides those of the four descriptors and of /dev/null.
        for number in range(3, 10):
            with Harness(control_fd=number) as harness:
                turn = harness.run(
                    "print('a')\nimport sys; print('b', file=sys.stderr)\nemit_result(1)"
                )
                self.assertEqual(
                    (turn.stdout, turn.stderr, turn.outcome), ("a\n", "b\n", "completed"), number
                )

    def test_a_process_the_script_forks_knows_that_it_has_one_thread(self):
        script = (
            "import os, threading\nstop = threading.Event()\n"
            "threading.Thread(target=stop.wait, daemon=True).start()\n"
            "child = os.fork()\nif child == 0:\n    os._exit(threading.active_count())\n"
            "print(threading.active_count(), os.waitpid(child, 0)[1] >> 8)"
        )
        self.assertEqual(self.printed(script), "2 1")

    def test_a_process_the_script_forks_cannot_emit_whatever_became_of_its_threads(self):
        script = (
            "import os, threading\nclass Named(threading.Thread):\n"
            "    def __init__(self):\n        super().__init__(daemon=True)\n"
            "        self._stop = threading.Event()\n"
            "    def run(self): self._stop.wait()\nNamed().start()\nchild = os.fork()\n"
            "if child == 0:\n"
            "    try: emit_log('from the child')\n    except RuntimeError: os._exit(7)\n"
            "    os._exit(8)\n"
            "print(os.waitpid(child, 0)[1] >> 8)"
        )
        turn = self.run_script(script)
        self.assertEqual((turn.stdout, turn.of("log")), ("7\n", []))

    def test_standard_input_is_empty(self):
        self.assertEqual(
            self.printed("import sys; print(repr(sys.stdin.read()), sys.stdin.fileno())"), "'' 0"
        )

    def test_a_session_and_signals_of_its_own(self):
        script = (
            "import os, signal\n"
            "print(os.getsid(0) == os.getpid(), signal.getsignal(signal.SIGPIPE) == "
            "signal.SIG_IGN, "
            "signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, "
            "signal.pthread_sigmask(signal.SIG_BLOCK, []))"
        )
        self.assertEqual(self.printed(script), "True True True set()")

    def test_it_looks_like_a_script_in_the_workspace(self):
        workspace = os.path.realpath(self.harness.workspace)
        script = (
            "import os, sys\n"
            "print(__name__, __file__, sys.argv, sys.path[0], "
            "os.path.realpath(os.getcwd()))\n"
            "print(sys.modules['__main__'].__dict__ is globals(), __builtins__.__name__)"
        )
        file = self.harness.workspace + "/script.py"
        expected = "__main__ %s %r %s %s\nTrue builtins" % (
            file,
            [file],
            self.harness.workspace,
            workspace,
        )
        self.assertEqual(self.printed(script), expected)

    def test_only_tools_and_helpers_are_in_the_globals(self):
        names = self.printed("print(sorted(n for n in globals() if n[:2] != '__'))")
        helpers = ["ToolResult", "emit_intermediate", "emit_log", "emit_result"]
        self.assertEqual(names, repr(helpers + ["fd", "kept", "os", "random", "socket"]))

    def test_nothing_of_the_rehearsal_is_visible(self):
        script = (
            "import sys, linecache, threading\n"
            "print([n for n in dir(sys) if n.startswith('last_')], "
            "[n for n in linecache.cache if n.startswith('<')], threading.active_count(), "
            "[c.__name__ for c in ValueError.__subclasses__() if c.__name__ == 'Warm'])"
        )
        self.assertEqual(self.printed(script), "[] [] 1 []")

    def test_workers_do_not_share_random_numbers(self):
        numbers = {self.printed("import random; print(random.random())") for _ in range(4)}
        self.assertEqual(len(numbers), 4)

    def test_the_environment_of_the_request_is_set(self):
        self.assertEqual(
            self.printed("import os; print(os.environ['TOKEN'])", env={"TOKEN": "t\xe9"}), "t\xe9"
        )

    def test_the_script_may_read_its_own_proc_entries_and_a_prepared_worker_is_hidden(self):
        self.assertEqual(self.printed("print(len(open('/proc/self/environ').read()) > 0)"), "True")
        # The last collection before the script is the one that follows the rehearsal.
        tool = (
            "import ctypes, gc\nseen = []\n"
            "def dumpable(*_): return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)\n"
            "gc.callbacks.append(lambda *_: seen.append(dumpable()))\n"
        )
        with Harness(tools={"a.py": tool}, rested=True) as harness:
            turn = harness.run("gc.callbacks.clear()\nprint(seen[-1], dumpable())")
            self.assertEqual(turn.stdout, "0 1\n")

    def test_no_clock_runs_in_a_prepared_worker(self):
        tool = "import signal\nclocks = []\nimport gc\n"
        tool += (
            "gc.callbacks.append(lambda *_: clocks.append(signal.getitimer(signal.ITIMER_REAL)))\n"
        )
        with Harness(tools={"a.py": tool}, rested=True) as harness:
            turn = harness.run("gc.callbacks.clear()\nprint(clocks[-1])")
            self.assertEqual(turn.stdout, "(0.0, 0.0)\n")

    def test_a_missing_workspace_leaves_the_script_at_the_root(self):
        with Harness(workspace=False) as harness:
            self.assertEqual(harness.run("import os; print(os.getcwd())").stdout, "/\n")

    def test_numpy_is_reseeded_when_preloaded(self):
        modules = {
            "numpy/__init__.py": "",
            "numpy/random.py": "import os\nseeded = []\ndef seed(): seeded.append(os.getpid())",
        }
        with Harness(modules=modules, arguments=["--preload", "numpy.random"]) as harness:
            turn = harness.run(
                "import numpy.random, os; print(numpy.random.seeded == [os.getpid()])"
            )
            self.assertEqual(turn.stdout, "True\n")

    def test_modules_in_the_workspace_can_be_imported(self):
        with open(os.path.join(self.harness.workspace, "helper_module.py"), "w") as file:
            file.write("x = 9")
        self.assertEqual(self.printed("import helper_module; print(helper_module.x)"), "9")

    def test_sources_can_be_inspected(self):
        self.assertEqual(
            self.printed("import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))"),
            "def f():\n    return 1",
        )


class SurroundingsAfterRehearsal(Surroundings):
    options = dict(Surroundings.options, rested=True)


class WhatIsLeftAtTheEnd(SharedHarness):
    """As after `python script.py`, although the process is not taken apart."""

    def written(self, script):
        turn = self.run_script(script)
        self.assertEqual((turn.of("error"), turn.outcome), ([], "completed"))
        with open(os.path.join(self.harness.workspace, "left"), "rb") as file:
            return file.read()

    def test_files_that_are_not_closed_are_written_out(self):
        for script in (
            "f = open('left', 'w')\nf.write('text')",
            "f = open('left', 'wb')\nf.write(b'text')",
            "import os\nos.close(os.open('other', os.O_CREAT))\nbox = [open('left', 'w')]\n"
            "box.append(box)\nbox[0].write('text')",
            "class Box: pass\nbox = Box()\nbox.me = box\nbox.file = open('left', 'w')\n"
            "box.file.write('text')\ndel box",
            "import threading, time\nf = open('left', 'w')\nf.write('text')\n"
            "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            "import builtins\nbuiltins.kept = open('left', 'w')\nkept.write('text')",
        ):
            self.assertEqual(self.written(script), b"text", script)

    def test_a_file_that_cannot_be_written_out_fails_nothing(self):
        turn = self.run_script(
            "import builtins\nbuiltins.f = open('/dev/full', 'w')\nf.write('text')"
        )
        self.assertEqual(turn.outcome, "completed")

    def test_destructors_and_suspended_generators_end(self):
        turn = self.run_script(
            "class Last:\n    def __del__(self): print('destroyed')\nlast = Last()\n"
            "def steps():\n    try:\n        yield 1\n    finally:\n        print('left')\n"
            "kept = steps()\nnext(kept)\n"
        )
        self.assertEqual(
            (sorted(turn.stdout.split()), turn.outcome), (["destroyed", "left"], "completed")
        )

    def test_a_daemon_thread_keeps_its_globals(self):
        turn = self.run_script(
            "import threading, time\ndef beat():\n    while True: time.sleep(0)\n"
            "threading.Thread(target=beat, daemon=True).start()\nf = open('left', 'w')\n"
        )
        self.assertEqual((turn.stderr, turn.outcome), ("", "completed"))

    def test_what_c_code_printed_comes_out(self):
        self.assertEqual(
            self.run_script("import ctypes\nctypes.CDLL(None).puts(b'from C')").stdout, "from C\n"
        )

    def test_a_forked_child_ends_like_any_python(self):
        script = (
            "import atexit, os\nif os.fork() == 0:\n    atexit.register(print, 'handler')\n"
            "    f = open('left', 'w')\n    f.write('child')\nelse:\n    os.wait()\n"
        )
        self.assertEqual(self.written(script), b"child")
        self.assertEqual(self.run_script(script).stdout, "handler\n")


class Source(SharedHarness):
    def test_a_byte_order_mark_is_no_part_of_the_script(self):
        self.assertEqual(self.run_script("\ufeffprint('bom')").stdout, "bom\n")

    def test_processes_that_are_not_forked_find_the_script(self):
        # A directory of its own: others make such files in /tmp at the same time.
        own = "import os, tempfile; tempfile.tempdir = os.getcwd()\n"
        script = own + (
            "import multiprocessing\ndef square(x): return x * x\nif __name__ == '__main__':\n"
            "    with multiprocessing.get_context(%r).Pool(1) as pool: "
            "print(pool.map(square, [3]))\n"
        )
        for method in ("spawn", "forkserver"):
            turn = self.run_script(script % method)
            self.assertEqual((turn.stdout, turn.outcome), ("[9]\n", "completed"), turn.stderr)
        left = own + "import glob; print(glob.glob(tempfile.gettempdir() + '/script-*.py'))"
        self.assertEqual(self.run_script(left).stdout, "[]\n")


class Inherited(SharedHarness):
    tool = (
        "import signal, threading, random\nsignal.signal(signal.SIGTERM, print)\n"
        "stop = threading.Event()\nthreading.Thread(target=stop.wait, daemon=True).start()\n"
    )
    options = {
        "tools": {"a.py": tool},
        "python_flags": ("-s", "-W", "default::DeprecationWarning:__main__"),
    }

    def test_signal_handlers_of_tools_are_not_inherited(self):
        turn = self.run_script(
            "import signal; print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)"
        )
        self.assertEqual(turn.stdout, "True\n")

    def test_a_thread_of_a_tool_makes_no_noise_and_no_difference(self):
        turn = self.run_script("import threading; print(threading.active_count())")
        self.assertEqual((turn.stdout, turn.stderr, turn.outcome), ("1\n", "", "completed"))
        with Harness(**self.options) as harness:
            harness.run("pass")
        self.assertEqual(harness.output, b"")


class InheritedHalfEnded(SharedHarness):
    """A thread that the threading module no longer counts, but has not seen the last of."""

    tool = (
        "import threading, time\n"
        "class Slow:\n    def __del__(self): time.sleep(3)\n"
        "kept = threading.local()\ndef keep(): kept.value = Slow()\n"
        "threading.Thread(target=keep).start()\ntime.sleep(0.05)\n"
    )
    options = {"tools": {"a.py": tool}}

    def test_it_does_not_hold_up_the_end_of_a_script_with_threads(self):
        for _ in range(5):
            turn = self.run_script(
                "import threading, time\n"
                "threading.Thread(target=time.sleep, args=(0.01,)).start()\nprint(1)"
            )
            self.assertEqual((turn.stdout, turn.outcome), ("1\n", "completed"))


class Ends(SharedHarness):
    def test_H20_every_kind_of_script_ends_with_exactly_one_end(self):
        for script in (
            "pass",
            "1 / 0",
            "while True: pass",
            "exit()",
            "emit_result(1)",
            "x = = 1",
            "raise BaseException",
        ):
            turn = self.run_script(script, timeout=0.1)
            self.assertEqual(
                [event["type"] for event in turn.events].index("end"), len(turn.events) - 1
            )
            self.assertEqual(turn.status, 0)

    def test_threads_are_joined_and_exit_handlers_run_before_the_end(self):
        turn = self.run_script(
            "import atexit, threading, time\n"
            "atexit.register(lambda: (print('handler'), emit_log('from the handler')))\n"
            "def work():\n    time.sleep(0.05)\n    print('thread')\n"
            "threading.Thread(target=work).start()\nprint('main')"
        )
        self.assertEqual(turn.stdout, "main\nthread\nhandler\n")
        self.assertEqual([event["type"] for event in turn.events], ["log", "end"])

    def test_executors_are_joined(self):
        turn = self.run_script(
            "import concurrent.futures, time\npool = concurrent.futures.ThreadPoolExecutor(2)\n"
            "f = pool.submit(lambda: (time.sleep(0.05), print('worked')))"
        )
        self.assertEqual((turn.stdout, turn.outcome), ("worked\n", "completed"))

    def test_daemon_threads_are_left_behind(self):
        turn = self.run_script(
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
        )
        self.assertEqual(turn.outcome, "completed")

    def test_a_failing_exit_handler_still_gives_an_end(self):
        turn = self.run_script(
            "import atexit\natexit.register(lambda: 1 / 0)\natexit.register(lambda: exit(3))\nNone"
        )
        self.assertEqual(turn.events, [{"type": "end", "outcome": "completed"}])
        self.assertIn("ZeroDivisionError", turn.stderr)

    def test_a_failing_thread_prints_its_traceback(self):
        turn = self.run_script("import threading\nthreading.Thread(target=lambda: 1 / 0).start()")
        self.assertIn("ZeroDivisionError", turn.stderr)
        self.assertEqual(turn.events, [{"type": "end", "outcome": "completed"}])

    def test_H19_a_script_that_kills_its_process_sends_no_end(self):
        for script, status in (
            ("import os; os._exit(3)", 3 << 8),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL),
        ):
            turn = self.run_script(script)
            self.assertEqual((turn.events, turn.status), ([], status))

    def test_the_end_of_the_requests_ends_an_unused_worker(self):
        with self.harness.worker() as worker:
            os.close(worker.requests)
            worker.wait_exit()
            self.assertEqual(worker.status, 0)

    def test_threads_cannot_emit_after_the_end(self):
        for _ in range(10):
            turn = self.run_script(
                "import threading\ndef work():\n    while True: emit_log('x')\n"
                "threading.Thread(target=work, daemon=True).start()\nemit_intermediate('a', 1)"
            )
            self.assertEqual(turn.events[-1], {"type": "end", "outcome": "completed"})
