"""Plays hearth-init for the tests: starts the harness, asks for workers, runs scripts, collects
what comes back.

It is not PID 1, so it makes itself the subreaper that double-forked workers fall to.
"""

import array
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HARNESS = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "executor_harness"
)
MODULES = sorted(name[:-3] for name in os.listdir(HARNESS) if name.endswith(".py"))
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_SECONDS = 30.0
RESTED_SECONDS = 0.03
MOVE_AND_EXECUTE = (
    "import os, sys; old, new = int(sys.argv[1]), int(sys.argv[2]); os.dup2(old, new); "
    "os.close(old); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)  # events may carry integers of any length
ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Record:
    """One line of the emit pipe: the two totals, and perhaps an event with the mark of its turn."""

    def __init__(self, line):
        totals, brace, rest = line.partition(b"{")
        self.out, self.err, *mark = totals.split()
        self.out, self.err, self.mark = int(self.out), int(self.err), b"".join(mark)
        text = (brace + rest).decode("utf-8") if brace else None
        self.event = None if text is None else json.loads(text, parse_constant=_refuse)

    def __repr__(self):
        return "Record(%d, %d, %r)" % (self.out, self.err, self.event)


def _refuse(token):
    raise AssertionError("%s is not JSON" % token)


class Turn:
    """What one script sent."""

    def __init__(self, records, stdout, stderr):
        self.records = records
        self.stdout, self.stderr = stdout.decode("utf-8"), stderr.decode("utf-8")
        self.events = [record.event for record in records if record.event is not None]
        self.outcome = self.events[-1].get("outcome") if self.events else None

    def sequence(self):
        """What a reader of the three pipes can reconstruct: ("out" | "err", text) and events, in
        order."""
        told, at = [], {"out": 0, "err": 0}
        for record in self.records:
            for stream, text in (("out", self.stdout), ("err", self.stderr)):
                total = getattr(record, stream)
                if total > at[stream]:
                    told.append((stream, text.encode("utf-8")[at[stream] : total].decode("utf-8")))
                    at[stream] = total
            if record.event is not None:
                told.append(record.event)
        return told

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    def only(self, kind):
        (event,) = self.of(kind)
        return event


class Worker:
    """The host side of one prepared worker."""

    def __init__(self, harness):
        pipes = [os.pipe() for _ in range(4)]
        theirs = [pipes[0][1], pipes[1][1], pipes[2][1], pipes[3][0]]
        self.stdout, self.stderr, self.emit, self.requests = (
            pipes[0][0],
            pipes[1][0],
            pipes[2][0],
            pipes[3][1],
        )
        self.data = {self.stdout: b"", self.stderr: b"", self.emit: b""}
        harness.send({"type": "prepare", "number": 1}, theirs)
        for fd in theirs:
            os.close(fd)
        self.pid = self.holder = None
        self.taken_out = self.taken_err = 0

    def wait_prepared(self, keep_holder=False):
        self.collect(lambda: self.data[self.emit].count(b"\n") == 2)
        starting, prepared = (Record(line).event for line in self.data[self.emit].splitlines())
        self.data[self.emit] = b""
        assert (starting["type"], prepared["type"]) == ("starting", "prepared"), (
            starting,
            prepared,
        )
        assert starting["pid"] == prepared["pid"]
        self.pid, self.holder = prepared["pid"], prepared["holder"]
        if not keep_holder:  # it keeps the pipes open, and most tests read to their end
            self.end_holder()
        return self

    def rest(self):
        """Until it has slept for longer than it waits for a script before it rehearses."""
        last, since = None, time.monotonic()
        while time.monotonic() - since < RESTED_SECONDS:
            time.sleep(0.002)
            with open("/proc/%d/schedstat" % self.pid) as used, open(
                "/proc/%d/stat" % self.pid
            ) as stat:
                now = used.read().split()[0], stat.read().rpartition(")")[2].split()[0]
            if now != last or now[1] != "S":
                last, since = now, time.monotonic()
        return self

    def end_holder(self):
        holder, self.holder = self.holder, None
        os.kill(holder, signal.SIGKILL)
        return reap(holder)

    def collect(self, is_enough):
        """Reads all three pipes until `is_enough()` or the end of all of them."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        open_fds = [fd for fd in self.data if fd is not None]
        while open_fds and not is_enough():
            ready, _, _ = select.select(open_fds, [], [], max(0, deadline - time.monotonic()))
            assert ready, "nothing came within %g s; so far %r" % (PATIENCE_SECONDS, self.data)
            for fd in ready:
                chunk = os.read(fd, 1 << 20)
                self.data[fd] += chunk
                if not chunk:
                    open_fds.remove(fd)

    def ask(self, script, mode="plan", timeout=20.0, mark="a1b2", **settings):
        """`settings`: env, name, sys_exit, limits, network."""
        settings = json.dumps(settings).encode() if settings else b""
        script = script.encode("utf-8", "surrogatepass")
        head = "%s %r %s %d %d\n" % (mode, timeout, mark, len(settings), len(script))
        self.send_bytes(head.encode() + settings + script)

    def send_bytes(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.requests, view) :]

    def wait_for(self, text):
        """Until the emit pipe has said `text`."""
        self.collect(lambda: text in self.data[self.emit])

    def wait_end(self):
        """Until the `end` of a step; takes what belongs to the step out of the buffers."""
        self.collect(
            lambda: b'{"type":"end"' in self.data[self.emit]
            and self.data[self.emit].endswith(b"\n")
        )
        records = [Record(line) for line in self.data[self.emit].splitlines()]
        last = records[-1]
        self.collect(lambda: len(self.data[self.stdout]) >= last.out - self.taken_out)
        self.collect(lambda: len(self.data[self.stderr]) >= last.err - self.taken_err)
        turn = Turn(records, self.data[self.stdout], self.data[self.stderr])
        self.taken_out += len(self.data[self.stdout])
        self.taken_err += len(self.data[self.stderr])
        self.data = dict.fromkeys(self.data, b"")
        return turn

    def wait_exit(self):
        """Until every pipe is closed; then the wait status is in `status`."""
        self.collect(lambda: False)
        self.status = reap(self.pid)
        return Turn(
            [Record(line) for line in self.data[self.emit].splitlines()],
            self.data[self.stdout],
            self.data[self.stderr],
        )

    def step(self, script, **options):
        self.ask(script, mode="interactive", **options)
        return self.wait_end()

    def close(self):
        for fd in (self.stdout, self.stderr, self.emit, self.requests):
            with contextlib.suppress(OSError):
                os.close(fd)
        for pid in filter(None, (self.pid, self.holder)):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def reap(pid):
    """Waits for a worker, which becomes our child when the process between has ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return os.waitpid(pid, 0)[1]
        except ChildProcessError:
            assert time.monotonic() < deadline, "process %d never became ours" % pid
            time.sleep(0.001)


class SharedHarness(unittest.TestCase):
    """Tests that share one harness, started with the class's `options`, but no worker."""

    options = {}

    @classmethod
    def setUpClass(cls):
        cls.harness = Harness(**cls.options)
        cls.addClassCleanup(cls.harness.close)

    def run_script(self, script, **options):
        return self.harness.run(script, **options)


class Harness:
    """A running harness with tools from a dictionary of file names and sources."""

    def __init__(
        self,
        tools=None,
        python_flags=("-s",),
        modules=None,
        arguments=(),
        env=None,
        workspace=True,
        control_fd=None,
        rested=False,
    ):
        self.rested = rested  # whether workers rehearse before they get their script
        self.directory = tempfile.TemporaryDirectory()
        self.workspace = (
            self._folder("workspace", {}) if workspace else self.directory.name + "/nowhere"
        )
        self.tools = self._folder("tools", tools or {})
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(PATIENCE_SECONDS)
        command = [
            sys.executable,
            *python_flags,
            HARNESS,
            "--tools",
            self.tools,
            "--workspace",
            self.workspace,
        ]
        if modules:
            command += ["--path", self._folder("modules", modules)]
        number = theirs.fileno()
        if control_fd is not None and control_fd != number:
            command = [
                sys.executable,
                "-c",
                MOVE_AND_EXECUTE,
                str(number),
                str(control_fd),
                *command,
            ]
            number = control_fd
        self.process = subprocess.Popen(
            [*command, *arguments],
            pass_fds=[theirs.fileno()],
            env=dict(os.environ, HEARTH_CONTROL_FD=str(number), **(env or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        theirs.close()
        self.hello = self.receive()

    def _folder(self, name, files):
        folder = os.path.join(self.directory.name, name)
        os.makedirs(folder)
        for path, content in files.items():
            path = os.path.join(folder, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        return folder

    def receive(self):
        packet = self.control.recv(1 << 18)
        return json.loads(packet) if packet else None

    def send(self, message, fds=()):
        packet = message if isinstance(message, bytes) else json.dumps(message).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.control.sendmsg([packet], rights)

    def prepare(self, keep_holder=False):
        worker = Worker(self).wait_prepared(keep_holder)
        return worker.rest() if self.rested else worker

    @contextlib.contextmanager
    def worker(self):
        worker = self.prepare()
        try:
            yield worker
        finally:
            worker.close()

    def run(self, script, **options):
        """One PLAN turn in a worker of its own."""
        with self.worker() as worker:
            worker.ask(script, **options)
            turn = worker.wait_exit()
            turn.status = worker.status
            return turn

    def close(self):
        self.control.close()
        self.output, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        self.directory.cleanup()
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
