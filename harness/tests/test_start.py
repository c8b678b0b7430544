"""Starting, the control socket, and what a fork must not share."""

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from tests.fake_init import HARNESS, MODULES, PATIENCE_SECONDS, Harness, Worker


def unread_bytes(socket):
    """Of what was sent, as the kernel counts it."""
    return struct.unpack("i", fcntl.ioctl(socket, termios.TIOCOUTQ, bytes(4)))[0]


class Start(unittest.TestCase):
    def test_H3_ready_comes_once_and_names_the_versions(self):
        with Harness() as harness:
            version = "%d.%d.%d" % sys.version_info[:3]
            self.assertEqual(harness.hello, {"type": "ready", "python": version, "harness": "2"})
            harness.run("pass")
            harness.control.setblocking(False)
            self.assertRaises(BlockingIOError, harness.receive)

    def test_H30_starts_isolated_and_without_site(self):
        with Harness(
            tools={"a.py": "def one():\n    return 1\n"}, python_flags=("-I", "-S")
        ) as harness:
            self.assertEqual(harness.hello["type"], "ready")
            self.assertEqual(harness.run("print(one())").stdout, "1\n")
            self.assertEqual(harness.run("exit(4)").only("error")["message"], "sys.exit(4) called")

    def test_H30_imports_only_the_standard_library(self):
        code = (
            "import sys; sys.path.insert(0, %r); import executor_harness.program"
            % os.path.dirname(HARNESS)
        )
        subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)

    def test_H25_a_missing_tools_directory_means_no_tools(self):
        with Harness(arguments=["--tools", "/nowhere/tools"]) as harness:
            self.assertEqual(harness.hello["type"], "ready")

    def test_the_end_of_init_is_the_end_of_the_harness(self):
        harness = Harness()
        self.assertEqual(harness.close(), 0)

    def test_unknown_packets_and_wrong_descriptors_are_ignored_without_a_leak(self):
        with Harness() as harness:
            before = os.listdir("/proc/%d/fd" % harness.process.pid) if os.getuid() == 0 else None
            for packet in (b"garbage", b"[1]", b'{"type":"unheard"}', b'{"type":"prepare"}'):
                harness.send(packet, [0, 1])
            harness.send(b'{"type":"prepare"}', [0, 1, 2, 0, 1])
            self.assertEqual(harness.run("print(1)").stdout, "1\n")
            # A script may be over before the harness has closed what it forked the worker with.
            deadline = time.monotonic() + PATIENCE_SECONDS
            while before is not None and os.listdir("/proc/%d/fd" % harness.process.pid) != before:
                self.assertLess(time.monotonic(), deadline, "descriptors are left")
                time.sleep(0.001)

    def test_the_harness_ignores_SIGINT(self):
        with Harness() as harness:
            harness.process.send_signal(signal.SIGINT)
            self.assertEqual(harness.run("print(1)").stdout, "1\n")

    def test_the_control_descriptor_is_not_in_the_environment(self):
        with Harness() as harness:
            self.assertEqual(
                harness.run("import os; print(os.getenv('HEARTH_CONTROL_FD'))").stdout, "None\n"
            )

    def test_path_directories_are_importable_and_the_harness_directory_is_not(self):
        with Harness(
            modules={"beside.py": "x = 3", "more.pth": "import sys; sys.through_pth = 4\n"}
        ) as harness:
            turn = harness.run(
                "import beside, sys; print(beside.x, sys.through_pth)\nimport executor_harness"
            )
            self.assertEqual(turn.stdout, "3 4\n")
            self.assertEqual(turn.only("error")["name"], "ModuleNotFoundError")

    def test_no_module_of_the_harness_is_in_the_way_of_a_script(self):
        script = (
            "import sys\nfor name in %r:\n    try: __import__(name)\n    except ImportError: pass\n"
            "    else: print('found', name)\n"
            "print([name for name in sys.modules if 'executor_harness' in name],"
            " [path for path in sys.path if 'executor_harness' in path])"
        )
        with Harness() as harness:
            names = [name for name in MODULES if not name.startswith("__")]
            self.assertIn("channel", names)
            self.assertEqual(harness.run(script % names).stdout, "[] []\n")

    def test_tools_may_have_the_names_of_the_harness_modules(self):
        tools = {"a.py": "import channel\ndef number():\n    return channel.number\n"}
        with Harness(tools=tools, modules={"channel.py": "number = 5\n"}) as harness:
            self.assertEqual(harness.run("print(number())").stdout, "5\n")

    def test_no_module_of_the_harness_hides_one_that_python_needs_to_start_it(self):
        # While Python looks for __main__, the harness's directory comes first on sys.path.
        library = os.path.dirname(os.__file__)
        of_python = {name.partition(".")[0] for name in os.listdir(library)} | set(
            sys.builtin_module_names
        )
        self.assertEqual(of_python.intersection(MODULES) - {"__pycache__"}, set())

    def test_a_python_that_a_script_starts_finds_them_too(self):
        child = (
            "import subprocess, sys\n"
            "print(subprocess.check_output([sys.executable, '-m', 'beside'], text=True))"
        )
        with Harness(modules={"beside.py": "print('found')"}) as harness:
            self.assertEqual(harness.run(child).stdout, "found\n\n")
        with Harness() as harness:
            self.assertEqual(
                harness.run("import os; print(os.getenv('PYTHONPATH'))").stdout, "None\n"
            )

    def test_preloaded_modules_are_there_before_the_script(self):
        modules = {"heavy.py": "import os\npid = os.getpid()"}
        with Harness(modules=modules, arguments=["--preload", "heavy,json"]) as harness:
            turn = harness.run("import heavy, os; print(heavy.pid == os.getpid())")
            self.assertEqual(turn.stdout, "False\n")

    def test_a_failed_fork_is_told_and_the_next_may_succeed(self):
        tool = (
            "import os\nreal, calls = os.fork, []\n"
            "def fork():\n    calls.append(1)\n    if len(calls) == 1:\n"
            "        raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
            "    return real()\nos.fork = fork\n"
        )
        with Harness(tools={"a.py": tool}) as harness:
            refused = Worker(harness)
            self.assertEqual(
                harness.receive(),
                {
                    "type": "prepare_failed",
                    "number": 1,
                    "message": "fork: Resource temporarily unavailable",
                },
            )
            refused.collect(lambda: False)  # every pipe ends: no descriptor was kept
            self.assertEqual(harness.run("print(1)").stdout, "1\n")

    def test_a_failed_second_fork_is_told(self):
        tool = (
            "import os\nreal, first = os.fork, os.getpid()\n"
            "def fork():\n    if os.getpid() != first:\n"
            "        raise OSError(12, 'Cannot allocate memory')\n"
            "    return real()\nos.fork = fork\n"
        )
        with Harness(tools={"a.py": tool}) as harness:
            Worker(harness)
            self.assertEqual(
                harness.receive(),
                {"type": "prepare_failed", "number": 1, "message": "fork: Cannot allocate memory"},
            )

    def descriptors_between_requests(self, harness):
        """A turn may be over before the harness has closed its copies of the pipes. When it takes
        the next request, it has closed them."""
        harness.control.send(b"{}")
        while unread_bytes(harness.control) > 0:
            time.sleep(0.001)
        return sorted(os.listdir("/proc/%d/fd" % harness.process.pid))

    @unittest.skipUnless(
        os.getuid() == 0, "only root may list the descriptors of a process that is not dumpable"
    )
    def test_fifty_workers_leak_no_descriptor_and_leave_no_process(self):
        with Harness() as harness:
            harness.run("pass")
            before = self.descriptors_between_requests(harness)
            for _ in range(50):
                harness.run("pass")
            self.assertEqual(self.descriptors_between_requests(harness), before)
            children = "/proc/%d/task/%d/children" % (harness.process.pid, harness.process.pid)
            if os.path.exists(children):
                with open(children) as file:
                    self.assertEqual(file.read(), "")


class BrokenTools(unittest.TestCase):
    def failure_of(self, **options):
        harness = Harness(**options)
        self.assertEqual(harness.hello["type"], "failed")
        self.assertEqual(harness.close(), 1)
        return harness.hello

    def test_H6_a_syntax_error_names_file_and_line(self):
        failed = self.failure_of(tools={"good.py": "x = 1", "bad.py": "a = 1\ndef f(:\n"})
        self.assertIn("tool bad.py: SyntaxError:", failed["message"])
        self.assertIn('bad.py", line 2', failed["traceback"])

    def test_H6_a_tool_that_raises_is_named_with_its_traceback(self):
        failed = self.failure_of(
            tools={"foo.py": "def f():\n    raise ValueError('no key')\nf()\n"}
        )
        self.assertEqual(failed["message"], "tool foo.py: ValueError: no key")
        self.assertIn('foo.py", line 2, in f\n    raise ValueError', failed["traceback"])
        self.assertNotIn("executor_harness", failed["traceback"])

    def test_H6_a_tool_that_fails_at_length_is_named_too(self):
        with Harness(tools={"long.py": "raise ValueError('\u00e4' * 300_000)"}) as harness:
            self.assertTrue(
                harness.hello["message"].startswith("tool long.py: ValueError: "),
                harness.hello["message"][:80],
            )
            self.assertLess(len(harness.hello["message"]), 10_000)

    def test_H6_a_tool_that_exits_is_a_failure_too(self):
        self.assertIn(
            "tool foo.py: SystemExit",
            self.failure_of(tools={"foo.py": "raise SystemExit(0)"})["message"],
        )

    def test_H6_a_missing_preload_is_named(self):
        failed = self.failure_of(arguments=["--preload", "no_such_module"])
        self.assertIn("preload no_such_module: ModuleNotFoundError", failed["message"])
        self.assertRegex(
            failed["traceback"], r'\nnote: this is Python 3\..*\["no_such_module"\].*\n$'
        )

    def test_a_tool_that_leaves_shared_memory_is_named(self):
        failed = self.failure_of(
            tools={"good.py": "x = 1", "notes.py": "import mmap\nnotes = mmap.mmap(-1, 4096)\n"}
        )
        self.assertIn(
            "tool notes.py: RuntimeError: shared writable memory is left (", failed["message"]
        )
        self.assertIn("rw-s", failed["message"])

    def test_a_preload_that_leaves_shared_memory_is_named(self):
        modules = {
            "plain.py": "x = 1",
            "counter.py": "import multiprocessing\nn = multiprocessing.Value('i')\n",
        }
        failed = self.failure_of(modules=modules, arguments=["--preload", "plain,counter"])
        self.assertIn(
            "preload counter: RuntimeError: shared writable memory is left", failed["message"]
        )

    def test_shared_memory_that_a_script_could_make_writable_is_refused(self):
        failed = self.failure_of(
            tools={"notes.py": "import mmap\nnotes = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)\n"}
        )
        self.assertIn(
            "tool notes.py: RuntimeError: shared writable memory is left", failed["message"]
        )


class SharedMemory(unittest.TestCase):
    def test_a_file_that_a_tool_has_mapped_for_reading_is_no_shared_memory(self):
        tool = (
            "import mmap\nfile = open('/etc/passwd', 'rb')\n"
            "table = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\ndef size():\n"
            "    return len(table)\n"
        )
        with Harness(tools={"table.py": tool}) as harness:
            self.assertEqual(harness.run("print(size() > 0)").stdout, "True\n")

    def test_memory_that_is_shared_but_gone_when_the_tool_is_loaded_is_accepted(self):
        with Harness(tools={"notes.py": "import mmap\nmmap.mmap(-1, 4096).close()\n"}) as harness:
            self.assertEqual(harness.run("print(1)").stdout, "1\n")

    def test_descriptors_that_a_tool_left_open_are_no_workers(self):
        tool = (
            "import os, select, socket\n"
            "kept = [socket.socketpair(), select.epoll(), open('/etc/passwd'), os.pipe()]\n"
            "kept += [os.memfd_create('kept')] if hasattr(os, 'memfd_create') else []\n"
        )
        script = (
            "import os\ndef is_open(fd):\n    try:\n        os.fstat(fd)\n"
            "    except OSError:\n        return False\n"
            "    return True\nprint([fd for fd in range(5, 1024) if is_open(fd)])"
        )
        with Harness(tools={"kept.py": tool}) as harness:
            self.assertEqual(harness.run(script).stdout, "[]\n")
