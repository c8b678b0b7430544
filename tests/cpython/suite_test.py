#!/usr/bin/env python3
"""CPython's own suite in a sandbox, and what is different there from the same Python outside.

Every test that is not ok in the sandbox is run outside, too. One that fares otherwise there must
be in differences.txt with the reason, and each line of that file must still be true. A test that
fails once is run again: on a busy machine once says nothing.

usage: suite_test.py GROUP HEARTH
"""
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3.11"  # the suite is that of Debian's package libpython3.11-testsuite
SUITE = "/usr/lib/python3.11/test/test_asyncio"
USER = 65534
ATTEMPTS = 3
TIMEOUT_SECONDS = 1500
BLUEPRINT = """
[state]
dir = "%s"
[[blueprint]]
name = "default"
scratch_size_mb = 256
[blueprint.resource_limits]
cpu_quota = 2
memory_mb = 2048
pids_limit = 500
max_output_bytes = 1048576
"""
# What an ordinary program needs. Left out: tests of the interpreter alone, and those of minutes.
GROUPS = {
    "system": ["test_pty", "test_os", "test_asyncio"],
    "processes": """
        test_subprocess test_popen test_fork1 test_wait3 test_wait4 test_posix test_threading
        test_thread test_queue test_sched test_signal test_select test_selectors test_poll
        test_epoll test_resource
    """.split(),
    "network": """
        test_socket test_ssl test_httplib test_httpservers test_http_cookiejar test_urllib
        test_urllib2 test_urllib2_localnet test_smtplib test_ftplib test_asyncore test_ipaddress
        test_wsgiref
    """.split(),
    "files": """
        test_tempfile test_shutil test_pathlib test_glob test_filecmp test_stat test_fileio
        test_mmap test_fcntl test_zipfile test_tarfile test_zlib test_gzip test_bz2 test_csv
        test_json test_pickle test_shelve test_dbm test_configparser test_logging test_hashlib
        test_random test_secrets test_uuid test_time test_datetime test_zoneinfo test_locale
        test_platform test_getpass test_pwd test_grp test_ctypes test_decimal test_statistics
        test_re test_struct
    """.split(),
    "multiprocessing": [
        "test_multiprocessing_fork",
        "test_multiprocessing_spawn *.WithProcessesTest[PQ]*",
        "test_concurrent_futures *Thread*",
        "test_concurrent_futures *.ProcessPoolFork[A-Z]*",
    ],
}


def plan_of(group):
    for words in GROUPS[group]:
        module, _, pattern = words.partition(" ")
        yield ["test." + module, pattern or "*"]


class Difference:
    def __init__(self, line):
        self.pattern, self.outcome, self.reason = line.split(None, 2)
        self.seen = False

    def explains(self, test, outcome):
        return outcome == self.outcome and fnmatch.fnmatchcase(test, "test." + self.pattern)


def differences_of(group):
    """Those of the group's modules."""
    with open(os.path.join(HERE, "differences.txt")) as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    modules = {name.split(".")[1] for name, _ in plan_of(group)}
    return [one for one in map(Difference, lines) if one.pattern.split(".")[0] in modules]


def leave_root():
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)


class Suite:
    def __init__(self, hearth, folder):
        self.hearth = hearth
        self.folder = folder
        with open(self.path("hearth.toml"), "w") as file:
            file.write(BLUEPRINT % self.path("state"))
        with open(self.path("suite.sh"), "w") as file:
            file.write("exec %s runner.py plan.json results\n" % PYTHON)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_plan(self, path, plan):
        with open(path, "w") as file:
            json.dump(list(plan), file)

    def read_results(self, path):
        results = {}
        with open(path) as file:
            for line in file:
                one = json.loads(line)
                results[one["test"]] = one
        return results

    def inside(self, plan):
        self.write_plan(self.path("plan.json"), plan)
        command = [self.hearth, "run", "--config", self.path("hearth.toml"), "--python", PYTHON]
        command += ["--timeout", str(TIMEOUT_SECONDS), "--force"]
        command += ["--put", os.path.join(HERE, "runner.py"), "--put", self.path("plan.json")]
        command += ["--get", "results:" + self.path("inside"), self.path("suite.sh")]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit("hearth run: exit code %d\n%s" % (done.returncode, done.stdout))
        return self.read_results(self.path("inside"))

    def outside(self, plan):
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o777)
            plan_file = os.path.join(place, "plan.json")
            self.write_plan(plan_file, plan)
            runner = shutil.copy(os.path.join(HERE, "runner.py"), place)
            for path in (plan_file, runner):
                os.chmod(path, 0o644)
            results = os.path.join(place, "results")
            env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
            env.update(HOME=place, TMPDIR=place)
            command = [PYTHON, runner, plan_file, results]
            subprocess.run(command, env=env, cwd=place, preexec_fn=leave_root, check=True)
            return self.read_results(results)


def unexplained(suite, results, differences):
    """What is not ok inside, otherwise outside, and not in the list. Notes what is in the list:
    whatever it is outside, which machines differ in."""
    bad = {name: one for name, one in results.items() if one["outcome"] != "ok"}
    outside = suite.outside([name, "*"] for name in bad) if bad else {}
    found = {}
    for name, one in bad.items():
        reasons = [known for known in differences if known.explains(name, one["outcome"])]
        for known in reasons:
            known.seen = True
        there = outside.get(name, {"outcome": "absent"})["outcome"]
        if there != one["outcome"] and not reasons:
            found[name] = dict(one, outside=there)
    return found


def main():
    group, hearth = sys.argv[1:]
    hearth = os.path.abspath(hearth)
    if not os.path.exists(SUITE):
        sys.exit("%s is missing: install libpython3.11-testsuite" % SUITE)
    differences = differences_of(group)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        suite = Suite(hearth, folder)
        results = suite.inside(plan_of(group))
        count = len(results)
        found = unexplained(suite, results, differences)
        for _ in range(ATTEMPTS - 1):
            if not found:
                break
            found = unexplained(suite, suite.inside([name, "*"] for name in found), differences)
    stale = [known.pattern for known in differences if not known.seen]
    for name, one in found.items():
        print("%s: %s in a sandbox, %s outside" % (name, one["outcome"], one["outside"]))
        print(one["why"])
    for pattern in stale:
        print("differences.txt: %s is not true any more" % pattern)
    print("%d tests, %d differences that are not explained" % (count, len(found)))
    if found or stale or count < 100:
        sys.exit(1)


if __name__ == "__main__":
    main()
