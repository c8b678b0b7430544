#!/usr/bin/env python3
"""Anyone can start: `hearth` as an ordinary user of a machine that was not prepared. Argument: the
hearth program."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from programs import copy_programs

HEARTH = os.path.abspath(sys.argv.pop())
SKIPPED = 77  # what CTest takes for "not run"
USER = 65534  # has no cgroup, wherever the tests run
PATIENCE_SECONDS = 60


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


class OrdinaryUser(unittest.TestCase):
    """The user has a home and nothing else."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.chmod(self.root, 0o755)
        self.programs = self.directory("programs")
        copy_programs(HEARTH, self.programs)
        self.hearth = os.path.join(self.programs, "hearth")
        self.home = self.directory("home", USER)

    def directory(self, name, owner=0):
        path = os.path.join(self.root, name)
        os.makedirs(path)
        os.chown(path, owner, owner)
        return path

    def file(self, name, text, mode=0o644):
        path = os.path.join(self.root, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def run_hearth(self, *arguments, script="", before_exec=None, **variables):
        return subprocess.run(
            [self.hearth, *arguments],
            input=script,
            cwd=self.home,
            env={"PATH": "/usr/bin:/bin", "HOME": self.home, **variables},
            user=USER,
            group=USER,
            extra_groups=[],
            preexec_fn=before_exec,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
        )


class WithoutCgroups(OrdinaryUser):
    def test_a_script_runs_at_the_first_command_and_the_summary_says_what_is_degraded(self):
        for _ in "first", "second":
            done = self.run_hearth("run", script="print('hello')")
            self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)
            (line,) = done.stderr.splitlines()  # said once, and nothing else
            self.assertRegex(line, r"^ok - in .* \(degraded: memory, pids, cpu\)$")

    def test_the_verdict_says_what_is_degraded(self):
        done = self.run_hearth("run", "--json=result", script="pass")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        result = json.loads(done.stdout)
        self.assertEqual(result["sandbox"]["degraded"], ["memory", "pids", "cpu"])

    def test_more_memory_than_allowed_is_an_error_and_not_a_memory_limit(self):
        done = self.run_hearth(
            "run", "--json=result", "-m", "64M", script="x = bytearray(400 << 20)"
        )
        result = json.loads(done.stdout)
        self.assertEqual((done.returncode, result["verdict"]), (1, "error"), done.stderr)
        self.assertIn('"name":"MemoryError"', done.stdout)


GROUPS = "/sys/fs/cgroup"
HAS_VERSION_2 = os.path.exists(GROUPS + "/cgroup.controllers")


class WithSystemd(OrdinaryUser):
    """A stand-in for systemd-run moves itself into cgroups that belong to the user. It notes how it
    was called, in one line of JSON each time."""

    def setUp(self):
        super().setUp()
        self.calls = self.file("calls", "")
        os.chown(self.calls, USER, USER)
        self.bin = self.directory("bin")

    def make_group(self, parent, *files, owner=0):
        """A new group; the user is its owner, or that of some of its files."""
        path = tempfile.mkdtemp(prefix="test-start-", dir=parent)
        self.addCleanup(self.remove_group, path)
        for name in files:
            os.chown(os.path.join(path, name), USER, USER)
        os.chown(path, owner, owner)
        return path

    def remove_group(self, path):
        for _ in range(1000):  # the kernel counts a process for a moment longer than its parent
            try:
                for folder, _, _ in os.walk(path, topdown=False):
                    os.rmdir(folder)
                return
            except OSError:
                time.sleep(0.01)
        self.fail(path + " is still in use")

    def make_groups(self):
        """The groups of a session, and those that systemd delegates: files to write "0" to."""
        if not HAS_VERSION_2:
            own = read("/proc/self/cgroup")
            paths = [
                GROUPS + f"/{name}/" + re.search(rf":{name}:/(.*)", own)[1]
                for name in ("memory", "pids", "cpu")
            ]
            made = [self.make_group(path, "cgroup.procs", "tasks", owner=USER) for path in paths]
            return [], [path + "/cgroup.procs" for path in made]
        # As in a session: systemd has enabled the controllers, and the user may not make groups.
        above = self.make_group(GROUPS, "cgroup.procs")
        write(GROUPS + "/cgroup.subtree_control", "+memory +pids +cpu")
        write(above + "/cgroup.subtree_control", "+memory +pids +cpu")
        files = "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"
        session = self.make_group(above)
        delegated = self.make_group(above, *files, owner=USER)
        return [session + "/cgroup.procs"], [delegated + "/cgroup.procs"]

    def stand_in(self, delegated, then="exec(sys.argv)"):
        self.file(
            "bin/systemd-run",
            f"""#!/usr/bin/python3
import json, os, sys
with open({self.calls!r}, "a") as calls:
    calls.write(json.dumps(sys.argv) + chr(10))
for name in {delegated!r}:
    with open(name, "w") as file:
        file.write("0")
command = sys.argv[sys.argv.index("--") + 1 :]
def exec(words):
    os.execvp(command[0], command)
{then}
""",
            0o755,
        )

    def start_in(self, session):
        def enter():
            for name in session:
                write(name, "0")

        return enter

    def run_hearth(self, *arguments, **options):
        return super().run_hearth(*arguments, PATH=self.bin + ":/usr/bin:/bin", **options)

    def called(self):
        return [json.loads(line) for line in read(self.calls).splitlines()]

    def test_limits_are_whole_and_nothing_is_said(self):
        session, delegated = self.make_groups()
        self.stand_in(delegated)
        done = self.run_hearth(
            "run", "--json=result", script="print(1)", before_exec=self.start_in(session)
        )
        result = json.loads(done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(result["sandbox"]["degraded"], [])
        done = self.run_hearth(
            "run",
            "-q",
            "-m",
            "64M",
            script="x = bytearray(1 << 30)",
            before_exec=self.start_in(session),
        )
        self.assertEqual(done.returncode, 137, done.stderr)

    def test_arguments_input_directory_and_variables_arrive(self):
        session, delegated = self.make_groups()
        self.stand_in(delegated)
        self.file("home/a $HOME.py", "import os\nprint(os.environ['A'], os.environ['B'])\n")
        done = self.run_hearth(
            "run",
            "-q",
            "-e",
            "A=$x  y",
            "-e",
            "B",
            "a $HOME.py",
            "-",
            script="print('input')",
            before_exec=self.start_in(session),
            B="ours",
        )
        self.assertEqual((done.stdout, done.stderr), ("$x  y ours\ninput\n", ""))
        trial, started = self.called()
        self.assertEqual(trial[-1], "true")
        options = ["--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes"]
        self.assertEqual(started[1:6], options)
        self.assertIn("--expand-environment=no", started)

    def test_the_caller_has_the_process_that_it_started(self):
        session, delegated = self.make_groups()
        self.stand_in(delegated)
        process = subprocess.Popen(
            [self.hearth, "run", "--json", "-"],
            cwd=self.home,
            env={"PATH": self.bin + ":/usr/bin:/bin", "HOME": self.home},
            user=USER,
            group=USER,
            extra_groups=[],
            preexec_fn=self.start_in(session),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            process.stdin.write("print('begun', flush=True)\nwhile True: pass\n")
            process.stdin.close()
            self.assertIn('"type":"start"', process.stdout.readline(), process.stderr)
            self.assertIn("begun", process.stdout.readline())
            process.send_signal(signal.SIGINT)
            end = json.loads(process.stdout.read().splitlines()[-1])
        self.assertEqual((process.returncode, end["result"]["verdict"]), (130, "cancelled"))

    def test_a_scope_that_is_refused_leaves_degraded_limits_and_no_word_of_systemd(self):
        self.stand_in([], then="sys.exit('Failed to connect to bus')")
        done = self.run_hearth("run", script="print(1)")
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)
        (line,) = done.stderr.splitlines()
        self.assertIn("(degraded: memory, pids, cpu)", line)
        self.assertEqual(len(self.called()), 1)

    def test_a_scope_without_controllers_is_entered_once(self):
        self.stand_in([])
        done = self.run_hearth("run", script="print(1)")
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)
        self.assertIn("(degraded: memory, pids, cpu)", done.stderr)
        self.assertEqual(len(self.called()), 2)  # a trial, and the start

    def test_it_can_be_turned_off(self):
        self.stand_in([])
        done = self.run_hearth("run", script="print(1)", HEARTH_SCOPE="off")
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)
        self.assertEqual(self.called(), [])


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("not run: only root can become another user", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
