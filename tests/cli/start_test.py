#!/usr/bin/env python3
"""Anyone can start: `hearth` as an ordinary user of a machine that was not prepared. Argument: the
hearth program."""
import glob
import json
import os
import pty
import re
import signal
import shutil
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


def become(user, before=None):
    """For a child before exec. What needs root comes first."""

    def change():
        if before:
            before()
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)

    return change


class OrdinaryUser(unittest.TestCase):
    """The user has a home and nothing else."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")  # sandboxes have a /tmp of their own
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

    def run_hearth(self, *arguments, script="", before_exec=None, user=USER, **variables):
        return subprocess.run(
            [self.hearth, *arguments],
            input=script,
            cwd=self.home,
            env={"PATH": "/usr/bin:/bin", "HOME": self.home, **variables},
            preexec_fn=become(user, before_exec),
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

    def test_the_prompt_says_what_is_degraded_before_the_first_step(self):
        ours, theirs = pty.openpty()
        ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        process = subprocess.Popen(
            [self.hearth, "run", "-i"],
            cwd=self.home,
            env={"PATH": "/usr/bin:/bin", "HOME": self.home, "TERM": "dumb"},
            preexec_fn=become(USER),
            **ends,
        )
        os.close(theirs)
        with process, os.fdopen(ours, "r+b", buffering=0) as terminal:
            shown = b""
            while b">>> " not in shown:
                shown += terminal.read(4096)
            terminal.write(b"\x04")
            self.assertEqual(process.wait(PATIENCE_SECONDS), 0)
        self.assertIn(b" no network. (degraded: memory, pids, cpu)\r\n", shown)

    def test_a_command_has_its_streams_and_its_exit_code(self):
        done = self.run_hearth("exec", "--", "sh", "-c", "cat; exit 3", script="hi\n")
        self.assertEqual((done.returncode, done.stdout), (3, "hi\n"), done.stderr)
        self.assertRegex(done.stderr, r"^error with exit code 3 in .*degraded: memory, pids, cpu")

    def test_it_may_write_its_own_mounts_and_those_of_others_are_refused(self):
        own, others = self.directory("own", USER), self.directory("others")
        script = "open('/data/made', 'w').close(); print('it ran')"
        done = self.run_hearth("run", "--mount", others + ":/data:rw", script=script)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("sandboxes are this user, which may not write it", done.stderr)
        self.assertIn("--get or --save", done.stderr)
        done = self.run_hearth("run", "-q", "--mount", own + ":/data:rw", script=script)
        self.assertEqual((done.returncode, done.stdout), (0, "it ran\n"), done.stderr)
        self.assertEqual(os.stat(own + "/made").st_uid, USER)

    def test_more_memory_than_allowed_is_an_error_and_not_a_memory_limit(self):
        done = self.run_hearth(
            "run", "--json=result", "-m", "64M", script="x = bytearray(400 << 20)"
        )
        result = json.loads(done.stdout)
        self.assertEqual((done.returncode, result["verdict"]), (1, "error"), done.stderr)
        self.assertIn('"name":"MemoryError"', done.stdout)


class AsRoot(OrdinaryUser):
    """Root may make cgroups and users, and needs nothing else."""

    def run_as_root(self, *arguments, script):
        state = os.path.join(self.root, "state")  # as on a machine that has never run it
        return self.run_hearth(*arguments, script=script, user=0, HEARTH_STATE_DIR=state)

    def test_a_script_runs_at_the_first_command_and_nothing_is_degraded(self):
        for _ in "first", "second":
            done = self.run_as_root("run", script="print('hello')")
            self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)
            (line,) = done.stderr.splitlines()
            self.assertRegex(line, r"^ok - in [^()]*$")

    def test_a_mount_that_only_root_may_write_is_refused_with_the_way_out(self):
        place = self.directory("place")
        script = "open('/data/made', 'w').close(); print('it ran')"
        mount = "--mount", place + ":/data:rw"
        done = self.run_as_root("run", "--json=result", *mount, script=script)
        self.assertEqual((done.returncode, "it ran" in done.stdout), (2, False), done.stderr)
        self.assertIn("chmod o+rwx " + place, json.loads(done.stdout)["detail"])
        os.chmod(place, 0o777)
        done = self.run_as_root("run", "-q", *mount, script=script)
        self.assertEqual((done.returncode, done.stdout), (0, "it ran\n"), done.stderr)
        self.assertNotEqual(os.stat(place + "/made").st_uid, 0)

    def test_the_limits_are_of_the_sandbox_and_its_user_is_not_root(self):
        greedy = self.run_as_root("run", "-q", "-m", "64M", script="x = bytearray(400 << 20)")
        self.assertEqual(greedy.returncode, 137, greedy.stderr)
        user = self.run_as_root("run", "-q", script="import os; print(os.getuid())")
        self.assertEqual(user.returncode, 0, user.stderr)
        self.assertNotEqual(int(user.stdout), 0)


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
        os.chmod(path, 0o755)  # as the kernel makes them
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
        """The groups of a session, and those that systemd delegates: files to write "0" to,
        or a directory for new groups."""
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
        write(delegated + "/cgroup.subtree_control", "+memory +pids +cpu")
        return [session + "/cgroup.procs"], [delegated]

    def stand_in(self, delegated, then="exec(sys.argv)"):
        self.file(
            "bin/systemd-run",
            f"""#!/usr/bin/python3
import json, os, sys, tempfile
with open({self.calls!r}, "a") as calls:
    calls.write(json.dumps(sys.argv) + chr(10))
for name in {delegated!r}:
    if os.path.isdir(name):  # version 2: a new scope each time, as systemd makes them
        name = tempfile.mkdtemp(dir=name) + "/cgroup.procs"
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
            script="x = bytearray(400 << 20)",
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
        options = ["--user", "--scope", "--quiet", "--description=hearth"]
        options += ["--collect", "--property=Delegate=yes"]
        self.assertEqual(started[1:7], options)
        self.assertIn("--expand-environment=no", started)

    def test_the_caller_has_the_process_that_it_started(self):
        session, delegated = self.make_groups()
        self.stand_in(delegated)
        process = subprocess.Popen(
            [self.hearth, "run", "--json", "-"],
            cwd=self.home,
            env={"PATH": self.bin + ":/usr/bin:/bin", "HOME": self.home},
            preexec_fn=become(USER, self.start_in(session)),
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

    def test_no_program_of_a_repository_or_that_every_user_can_write_is_started(self):
        self.stand_in([])
        note = f"#!/bin/sh\necho '[]' >>{self.calls}\nexec /usr/bin/python3 \"$@\"\n"
        self.file("bin/python3", note, 0o755)
        for name in "systemd-run", "python3":
            shutil.copy(f"{self.bin}/{name}", self.home)
        os.chmod(self.bin, 0o777)
        for first in ".:", ":", "../bin:", self.bin + ":":
            done = OrdinaryUser.run_hearth(
                self, "run", script="print(1)", PATH=first + "/usr/bin:/bin"
            )
            self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)
            self.assertEqual(self.called(), [], first)

    def test_it_can_be_turned_off(self):
        self.stand_in([])
        done = self.run_hearth("run", script="print(1)", HEARTH_SCOPE="off")
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)
        self.assertEqual(self.called(), [])


class WhichPython(OrdinaryUser):
    def environment(self, name, owner=USER):
        """A virtual environment with a package of its own, which says where it is."""
        path = os.path.join(self.root, name)
        done = subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", path])
        self.assertEqual(done.returncode, 0)
        (packages,) = glob.glob(path + "/lib/python3.*/site-packages")
        write(packages + "/mine.py", f"place = {name!r}\n")
        for folder, _, files in os.walk(path):
            for entry in folder, *(os.path.join(folder, file) for file in files):
                os.chown(entry, owner, owner, follow_symlinks=False)
        return path

    def printed(self, *options, script, **variables):
        done = self.run_hearth("run", *options, script=script, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_first_python3_of_the_path_is_used_with_the_packages_of_its_environment(self):
        for name in "home/one", "home/two":  # with one state directory: a change counts at once
            place = self.environment(name)
            for variables in (
                {"PATH": place + "/bin:/usr/bin:/bin"},
                {"VIRTUAL_ENV": place},
            ):
                script = "import mine, sys; print(mine.place, sys.prefix)"
                self.assertEqual(self.printed(script=script, **variables), f"{name} {place}")
        done = self.run_hearth("run", script="import mine")
        self.assertIn("No module named 'mine'", done.stderr)

    def test_the_same_python_is_in_every_process_and_the_caller_is_told_which(self):
        place = self.environment("home/one")
        ask = "import sys; print(sys.prefix, sys.version.split()[0])"
        script = (
            "import subprocess, sys\n"
            "for name in 'python3', 'python', sys.executable:\n"
            f"    print(subprocess.check_output([name, '-c', {ask!r}], text=True), end='')\n"
            f"{ask}\n"
        )
        for path in place, "/usr":
            lines = self.printed(
                script=script, PATH=path + "/bin:/usr/local/bin:/usr/bin:/bin"
            ).splitlines()
            self.assertEqual((len(lines), len(set(lines))), (4, 1), lines)
            self.assertTrue(lines[0].startswith(path + " "), lines)
            done = self.run_hearth(
                "run", "--json=result", script="pass", PATH=path + "/bin:/usr/bin:/bin"
            )
            sandbox = json.loads(done.stdout)["sandbox"]
            self.assertEqual(lines[0], path + " " + sandbox["python"])
            self.assertTrue(sandbox["python_path"].startswith(path + "/bin/python3"), sandbox)

    def test_a_python_is_named_by_its_version_or_its_path(self):
        place = self.environment("home/one")
        script = "import sys; print(sys.prefix)"
        for named in place + "/bin/python3", "./one/bin/python":
            self.assertEqual(self.printed("--python", named, script=script), place)
        version = subprocess.check_output(
            ["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            text=True,
        ).strip()
        # As a blueprint's python_version: the interpreter, without an environment that is active.
        found = self.printed("--python", version, script=script, VIRTUAL_ENV=place)
        self.assertEqual(found, "/usr")
        with tempfile.TemporaryDirectory(dir="/tmp") as hidden:
            self.check_refused_pythons(hidden)

    def check_refused_pythons(self, hidden):
        os.chmod(hidden, 0o755)
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", hidden], check=True)
        for named, words in (
            ("3.99", "there is no Python 3.99 on this machine; there are "),
            ("/bin/true", "/bin/true is no Python 3 that can be run"),
            (hidden + "/bin/python3", hidden + "/bin/python3 is not visible in a sandbox"),
            ("one", 'must look like 3.11 or 3.11.4, is "one"'),
        ):
            done = self.run_hearth("run", "--python", named, script="1")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)

    def test_of_a_project_that_is_an_environment_only_that_is_shown(self):
        place = self.environment("home/project")
        write(place + "/.env", "SECRET=1")
        script = f"import mine, os; print(sorted(os.listdir({place!r})), os.listdir({self.home!r}))"
        shown, home = eval(self.printed(script=script, VIRTUAL_ENV=place).replace("] [", "], ["))
        self.assertIn("bin", shown)
        self.assertLessEqual(set(shown), {"bin", "lib", "lib64", "include", "share", "pyvenv.cfg"})
        self.assertEqual(home, ["project"])

    def test_root_uses_no_python_and_no_package_of_another_user(self):
        mark = self.root + "/mark"
        evil = self.directory("evil", USER)
        self.file("evil/python3", f'#!/bin/sh\ntouch {mark}\nexec /usr/bin/python3 "$@"\n', 0o755)
        other = self.environment("other", owner=0)
        (packages,) = glob.glob(other + "/lib/python3.*/site-packages")
        os.chown(packages + "/mine.py", USER, USER)
        good = self.environment("good", owner=0)
        for path, passed_over in ((evil, evil), (other + "/bin", packages + "/mine.py")):
            done = self.run_hearth(
                "run",
                script="import mine; print(mine.place)",
                user=0,
                PATH=f"{path}:{good}/bin:/usr/bin:/bin",
                HEARTH_STATE_DIR=self.root + "/state",
            )
            self.assertEqual((done.returncode, done.stdout), (0, "good\n"), done.stderr)
            self.assertIn("Python is passed over", done.stderr)
            self.assertIn(f"trust {passed_over}: it belongs to user {USER}", done.stderr)
        self.assertFalse(os.path.exists(mark))


class Doctor(OrdinaryUser):
    def test_it_says_what_a_run_will_do_and_never_the_contrary(self):
        done = self.run_hearth("doctor")
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = done.stdout.splitlines()
        self.assertIn("ok  a sandbox          starts and runs a script", lines)
        self.assertEqual(
            lines[-1], "Sandboxes start here, with degraded limits: memory, pids, cpu."
        )
        self.assertEqual([line for line in lines if line.startswith("no ")], [])
        self.assertRegex(done.stdout, r"ok  Python +3\.\d+\.\S+ \(/usr/bin/python3\.\d+\)\n")
        self.assertRegex(done.stdout, r"ok  node +\S")

    def test_where_no_sandbox_starts_it_says_so(self):
        os.remove(self.programs + "/hearth-init")
        done = self.run_hearth("doctor")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("no  a sandbox          does not start", done.stdout)
        self.assertIn("Sandboxes do not start here.", done.stdout.splitlines()[-1])


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("not run: only root can become another user", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
