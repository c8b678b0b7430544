#!/usr/bin/env python3
"""hearth with containers, as a person meets it: run, image, bench, doctor, and a hearth that is in a container itself.

Argument: the hearth program. HEARTH_TEST_DOCKER: the address of an engine (scripts/docker-engine env).
"""
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HEARTH = os.path.abspath(sys.argv.pop())
ENGINE = os.environ["HEARTH_TEST_DOCKER"]
SOCKET = ENGINE[len("unix://"):]
PATIENCE_SECONDS = 120
SKIPPED = 77  # what CTest takes for "not run"

CONFIG = """
[state]
dir = "{state}"
[pool]
backend = "docker"
[builder]
no_index = true
[[sandbox]]
name = "box"
python_version = "3.11"
[[sandbox]]
name = "other"
python_version = "3.11"
[[tool]]
name = "speech"
file = "speech.py"
sandboxes = ["box"]
"""


class DockerTest(unittest.TestCase):
    """A folder with a configuration, and an engine."""

    @classmethod
    def setUpClass(cls):
        # As tests/support/docker_engine.h: with others, unless a test prunes what nobody uses at the moment.
        cls.engine = os.open(os.path.dirname(SOCKET), os.O_RDONLY)
        cls.addClassCleanup(os.close, cls.engine)
        fcntl.flock(cls.engine, fcntl.LOCK_SH)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        self.file("speech.py", "def say(): return 'version 1'\n")
        self.config = self.file("hearth.toml", CONFIG.format(state=self.folder + "/state"))
        self.addCleanup(self.remove_images)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def remove_images(self):
        for name in self.docker("images", "-q", "--filter", "label=hearth.image.sandbox=box").split():
            self.docker("rmi", "-f", name)

    def docker(self, *arguments):
        return subprocess.run(
            ["docker", "-H", ENGINE, *arguments], stdout=subprocess.PIPE, check=True, text=True, timeout=PATIENCE_SECONDS
        ).stdout

    def hearth(self, *arguments, script="", environment=None):
        return subprocess.run(
            [HEARTH, *arguments],
            input=script,
            cwd=self.folder,
            env={**os.environ, "DOCKER_HOST": ENGINE, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def containers(self):
        with open(self.folder + "/state/docker/owner") as file:
            owner = file.read()
        return self.docker("ps", "-aq", "--filter", "label=hearth.owner=" + owner).split()


class OnTheHost(DockerTest):
    def test_a_script_runs_in_a_container_that_is_gone_afterwards(self):
        done = self.hearth("run", "-q", "-s", "box", script="import getpass; print(say(), getpass.getuser())")
        self.assertEqual((done.returncode, done.stdout), (0, "version 1 sandbox\n"), done.stderr)
        self.assertEqual(self.containers(), [])
        for script, options, code in (
            ("1/0", [], 1),
            ("while True: pass", ["--timeout", "0.3"], 124),
            ("x = bytearray(1 << 30)", ["--memory", "64M"], 137),
        ):
            done = self.hearth("run", "-q", "-s", "box", *options, script=script)
            self.assertEqual(done.returncode, code, (script, done.stderr))

    def test_images_are_built_listed_and_pruned(self):
        fcntl.flock(self.engine, fcntl.LOCK_EX)
        self.addCleanup(fcntl.flock, self.engine, fcntl.LOCK_SH)
        built = self.hearth("image", "build", "box")
        self.assertEqual(built.returncode, 0, built.stderr)
        first = built.stdout.strip()
        self.assertRegex(first, "^hearth-sandbox-box:[0-9a-f]{64}$")
        self.assertIn("Step 1/", built.stderr)
        again = self.hearth("image", "build", "box")
        self.assertEqual((again.stdout.strip(), again.stderr), (first, ""))
        self.file("speech.py", "def say(): return 'version 2'\n")
        second = self.hearth("image", "build", "-q", "box").stdout.strip()
        self.assertNotEqual(first, second)
        listed = [json.loads(line) for line in self.hearth("image", "list", "--json").stdout.splitlines()]
        states = {image["name"]: image["current"] for image in listed}
        self.assertEqual((states[first], states[second]), (False, True))
        self.assertIn(second, self.hearth("image", "list").stdout)
        pruned = self.hearth("image", "prune")
        self.assertIn("removed " + first, pruned.stdout.splitlines())
        self.assertNotIn(second, pruned.stdout)

    def test_a_build_that_fails_shows_its_log(self):
        self.file("hearth.toml", CONFIG.format(state=self.folder + "/state") + 'packages = ["no-such-package"]\n')
        failed = self.hearth("run", "-s", "box", script="x = 1")
        self.assertEqual(failed.returncode, 2)
        self.assertIn("No matching distribution found for no-such-package", failed.stderr)

    def test_the_bench_measures_containers(self):
        done = self.hearth("bench", "-s", "other", "-n", "1", "-t", "20", "--pool-size", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["verdicts"], {"ok": 20})

    def test_what_a_killed_hearth_left_is_gone_with_the_next(self):
        process = subprocess.Popen(
            [HEARTH, "run", "-s", "box", "-"],
            cwd=self.folder,
            env={**os.environ, "DOCKER_HOST": ENGINE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        process.stdin.write("print('begun', flush=True)\nimport time\ntime.sleep(60)\n")
        process.stdin.close()
        self.assertEqual(process.stdout.readline(), "begun\n")
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        self.assertEqual(len(self.containers()), 1)
        self.assertEqual(self.hearth("run", "-q", "-s", "box", script="print(1)").stdout, "1\n")
        self.assertEqual(self.containers(), [])

    def test_an_engine_that_is_not_there_is_explained(self):
        done = self.hearth("run", "-s", "box", script="x = 1", environment={"DOCKER_HOST": "unix:///no/such.sock"})
        self.assertEqual(done.returncode, 3)
        # Which of them depends on where the tests run.
        self.assertRegex(done.stderr, "install and start Docker, or set DOCKER_HOST|start it with -v /no/such.sock")
        doctor = self.hearth("doctor", environment={"DOCKER_HOST": "unix:///no/such.sock"})
        self.assertIn("not usable, and not needed: the Docker engine at unix:///no/such.sock", doctor.stdout)
        self.assertRegex(self.hearth("doctor").stdout, r"Docker +Docker/.*API 1\.\d+.*runtimes .*runc")


class InAContainer(DockerTest):
    """Beside the containers it makes, through the socket of the host's engine."""

    def controller(self, *options, script):
        """Runs hearth in a container of its own, with this machine's programs and libraries."""
        command = ["docker", "-H", ENGINE, "run", "--rm", "-i", "--network", "none", "-v", "/usr:/usr:ro"]
        command += ["-v", os.path.dirname(HEARTH) + ":/hearth-bin:ro", "-v", self.folder + ":/controller"]
        command += [*options, "python:3.11-slim", "/hearth-bin/hearth", "run", "-q", "-c", "/controller/inside.toml", "-s", "box"]
        return subprocess.run(
            command, input=script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS
        )

    def test_b22_a_hearth_in_a_container_makes_siblings_with_the_hosts_files(self):
        os.mkdir(self.folder + "/data")
        os.chmod(self.folder + "/data", 0o777)
        self.file("data/greeting.txt", "from the host")
        with_files = CONFIG.format(state="/controller/state").replace(
            '[[sandbox]]\nname = "other"',
            '[[sandbox.resources]]\nhost_path = "/controller/data"\ncontainer_path = "/data"\nread_only = false\n'
            '[[sandbox]]\nname = "other"',
        )
        self.file("inside.toml", with_files + f'[host_path_map]\n"/controller" = "{self.folder}"\n')
        script = "print(open('/data/greeting.txt').read())\n_ = open('/data/answer.txt', 'w').write('from the sandbox')\n"
        done = self.controller("-v", SOCKET + ":/var/run/docker.sock", script=script)
        self.assertEqual((done.returncode, done.stdout), (0, "from the host\n"), done.stderr)
        with open(self.folder + "/data/answer.txt") as answer:
            self.assertEqual(answer.read(), "from the sandbox")
        self.assertEqual(self.containers(), [])

    def test_b1_a_hearth_in_a_container_without_the_socket_is_told_how_to_get_it(self):
        self.file("inside.toml", CONFIG.format(state="/controller/state"))
        done = self.controller(script="x = 1")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("start it with -v /var/run/docker.sock:/var/run/docker.sock", done.stderr)

    def test_b1_a_socket_without_permission_is_explained(self):
        self.file("inside.toml", CONFIG.format(state="/controller/state"))
        os.mkdir(self.folder + "/state")
        os.chmod(self.folder + "/state", 0o777)
        done = self.controller("-v", SOCKET + ":/var/run/docker.sock", "--user", "10001:10001", script="x = 1")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("--group-add", done.stderr)


if __name__ == "__main__":
    if os.geteuid() != 0 and os.environ.get("CI") != "true":
        print("not run: tests with Docker need root", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
