"""Runs modules of CPython's own suite, each in a process of its own, and writes what became of
every test. By the Python whose suite it is, inside a sandbox and outside.

usage: runner.py PLAN RESULTS
PLAN is a JSON list of [name, pattern]: a module of the package `test` or a single test, and which
of its tests to run. RESULTS gets a JSON object a line: test, outcome, why.
"""
import concurrent.futures
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import unittest

AT_ONCE = 2


class Results(unittest.TestResult):
    """One line for each test, whatever happens to those after it. Of subtests, the worst counts."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.bad = None

    def say(self, test, outcome, why=""):
        line = json.dumps({"test": test.id(), "outcome": outcome, "why": why})
        self.file.write(line + "\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.bad = None

    def note_bad(self, test, error):
        self.bad = self._exc_info_to_string(error, test)
        if not isinstance(test, unittest.TestCase):  # setUpClass or setUpModule
            self.say(test, "fails", self.bad)

    def addError(self, test, err):
        self.note_bad(test, err)

    def addFailure(self, test, err):
        self.note_bad(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note_bad(test, err)

    def addSkip(self, test, reason):
        if not self.bad:
            self.bad = "skipped"
            self.say(test, "skipped", reason)

    def addUnexpectedSuccess(self, test):
        self.bad = "it was expected to fail"

    def stopTest(self, test):
        super().stopTest(test)
        if self.bad != "skipped":
            self.say(test, "fails" if self.bad else "ok", self.bad or "")


def tests_in(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests_in(one)
        else:
            yield one


def run_module(name, pattern, results):
    from test import support

    support.use_resources = []  # as regrtest has it without -u: no network, nothing that takes long
    support.verbose = 0
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    chosen = [test for test in tests_in(suite) if fnmatch.fnmatchcase(test.id(), pattern)]
    with open(results, "a") as file:
        unittest.TestSuite(chosen).run(Results(file))


def start(name, pattern, results):
    """A test that ends its process has failed, and those after it were not run."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        command = [sys.executable, os.path.abspath(__file__), "--module", name, pattern, results]
        done = subprocess.run(
            command,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            errors="replace",
        )
    if done.returncode != 0:
        why = "exit code %d\n%s" % (done.returncode, done.stdout[-2000:])
        with open(results, "a") as file:
            file.write(json.dumps({"test": name, "outcome": "fails", "why": why}) + "\n")


def main():
    if sys.argv[1] == "--module":
        run_module(*sys.argv[2:])
        return
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    results = os.path.abspath(sys.argv[2])
    open(results, "w").close()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(start, name, pattern, results) for name, pattern in plan]:
            done.result()


if __name__ == "__main__":
    main()
