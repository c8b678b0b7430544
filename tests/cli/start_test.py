#!/usr/bin/env python3
"""Anyone can start: `hearth` as an ordinary user of a machine that was not prepared. Argument: the
hearth program."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from programs import copy_programs

HEARTH = os.path.abspath(sys.argv.pop())
SKIPPED = 77  # what CTest takes for "not run"
USER = 65534  # has no cgroup, wherever the tests run
PATIENCE_SECONDS = 60


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

    def run_hearth(self, *arguments, script="", **variables):
        return subprocess.run(
            [self.hearth, *arguments],
            input=script,
            cwd=self.home,
            env={"PATH": "/usr/bin:/bin", "HOME": self.home, **variables},
            user=USER,
            group=USER,
            extra_groups=[],
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
        done = self.run_hearth("run", "--json", script="pass")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        verdict = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(verdict["degraded"], ["memory", "pids", "cpu"])

    def test_more_memory_than_allowed_is_an_error_and_not_a_memory_limit(self):
        done = self.run_hearth("run", "--json", "-m", "64M", script="x = bytearray(400 << 20)")
        verdict = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((done.returncode, verdict["verdict"]), (1, "error"), done.stderr)
        self.assertIn('"name":"MemoryError"', done.stdout)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("not run: only root can become another user", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
