#!/usr/bin/env python3
"""hearth with containers, as its users meet it: run, image, bench, doctor, and a hearth that is in
a container itself.

Argument: the hearth program. HEARTH_TEST_DOCKER: the address of an engine (scripts/docker-engine
env).
"""
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HEARTH = os.path.abspath(sys.argv.pop())
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENGINE = os.environ["HEARTH_TEST_DOCKER"]
SOCKET = ENGINE[len("unix://") :]
PATIENCE_SECONDS = 120
SKIPPED = 77  # what CTest takes for "not run"

CONFIG = """
[state]
dir = "{state}"
[pool]
backend = "docker"
[builder]
no_index = true
[[blueprint]]
name = "box"
python_version = "3.11"
[[blueprint]]
name = "other"
python_version = "3.11"
[[tool]]
name = "speech"
file = "speech.py"
blueprints = ["box"]
"""


class DockerTest(unittest.TestCase):
    """A folder with a configuration, and an engine."""

    @classmethod
    def setUpClass(cls):
        # As tests/support/docker_engine.h: tests share the engine, unless one of them prunes what
        # is unused at the moment.
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
        for name in self.docker(
            "images", "-q", "--filter", "label=hearth.image.blueprint=box"
        ).split():
            self.docker("rmi", "-f", name)

    def docker(self, *arguments):
        return subprocess.run(
            ["docker", "-H", ENGINE, *arguments],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        ).stdout

    def hearth(self, *arguments, script="", environment=None):
        return subprocess.run(
            [HEARTH, *arguments],
            input=script,
            cwd=self.folder,
            env={
                **os.environ,
                "DOCKER_HOST": ENGINE,
                "HEARTH_CONFIG": self.config,
                **(environment or {}),
            },
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
        done = self.hearth(
            "run", "-q", "-b", "box", script="import getpass; print(say(), getpass.getuser())"
        )
        self.assertEqual((done.returncode, done.stdout), (0, "version 1 sandbox\n"), done.stderr)
        self.assertEqual(self.containers(), [])
        named = self.hearth("run", "-b", "box", script="import sys; print(sys.version.split()[0])")
        self.assertTrue(named.stderr.endswith(", Python %s\n" % named.stdout.strip()), named.stderr)
        for script, options, code in (
            ("1/0", [], 1),
            ("while True: pass", ["--timeout", "0.3"], 124),
            ("x = bytearray(1 << 30)", ["--memory", "64M"], 137),
        ):
            done = self.hearth("run", "-q", "-b", "box", *options, script=script)
            self.assertEqual(done.returncode, code, (script, done.stderr))

    def test_files_go_into_a_container_and_out_of_it(self):
        os.makedirs(self.folder + "/in/deep")
        self.file("in/deep/a", "1")
        os.symlink("deep/a", self.folder + "/in/link")
        script = (
            "import os; os.makedirs('out/deep')\n"
            "open('out/deep/b', 'w').write(open('in/link').read() * 3)\n"
            "open('c', 'wb').write(bytes(3_000_000)); os.symlink('/etc/passwd', 'out/up')\n"
        )
        box = ["run", "-b", "box", "--put", "in"]
        done = self.hearth(*box, "--get", "out:got", "--save", "kept", script=script)
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in ("got/deep/b", "kept/out/deep/b"):
            with open(os.path.join(self.folder, path)) as file:
                self.assertEqual(file.read(), "111")
        self.assertEqual(os.path.getsize(self.folder + "/kept/c"), 3_000_000)
        self.assertEqual(os.readlink(self.folder + "/kept/in/link"), "deep/a")
        self.assertFalse(os.path.lexists(self.folder + "/kept/out/up"))
        self.assertIn("saved in kept: ", done.stderr)
        done = self.hearth(*box, "--get", "none", script=script)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--get none: ", done.stderr)
        self.assertIn("not kept: c 3.0 MB, out/deep/b 3 bytes (--save DIR ", done.stderr)
        self.assertEqual(self.containers(), [])

    def test_a_command_in_a_container_has_its_streams_and_its_exit_code(self):
        line = 'cat; echo "$1" >&2; exit 3'
        options = ["exec", "-q", "-b", "box", "-s", line, "--", "argument"]
        done = self.hearth(*options, script="given\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "given\n", "argument\n"))
        done = self.hearth("exec", "-q", "-b", "box", "--", "no-such-program")
        self.assertEqual((done.returncode, done.stdout), (127, ""), done.stderr)
        self.assertEqual(self.containers(), [])

    def test_a_mount_that_a_container_cannot_write_is_refused_with_the_way_out(self):
        os.mkdir(self.folder + "/place")
        os.chmod(self.folder + "/place", 0o755)
        mount = ["-b", "box", "--mount", self.folder + "/place:/data:rw"]
        done = self.hearth("run", *mount, script="print('it ran')")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("chmod o+rwx " + self.folder + "/place", done.stderr)
        os.chown(self.folder + "/place", -1, 10001)
        os.chmod(self.folder + "/place", 0o775)
        done = self.hearth("run", *mount, script="open('/data/made', 'w').close()")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = os.stat(self.folder + "/place/made")
        self.assertEqual((made.st_uid != 0, made.st_gid), (True, 10001))

    def test_images_are_built_listed_and_pruned(self):
        fcntl.flock(self.engine, fcntl.LOCK_EX)
        self.addCleanup(fcntl.flock, self.engine, fcntl.LOCK_SH)
        built = self.hearth("image", "build", "box")
        self.assertEqual(built.returncode, 0, built.stderr)
        first = built.stdout.strip()
        self.assertRegex(first, "^hearth-sandbox-box:[0-9a-f]{64}$")
        self.assertIn("Step 1/", built.stderr)
        again = self.hearth("image", "build", "box")
        self.assertEqual(again.stdout.strip(), first)
        self.assertRegex(again.stderr, r"^box: up to date \(built [^)]+ ago\)\n$")
        self.file("speech.py", "def say(): return 'version 2'\n")
        second = self.hearth("image", "build", "-q", "box").stdout.strip()
        self.assertNotEqual(first, second)
        listed = [
            json.loads(line) for line in self.hearth("image", "list", "--json").stdout.splitlines()
        ]
        states = {image["name"]: image["current"] for image in listed}
        self.assertEqual((states[first], states[second]), (False, True))
        self.assertIn(second.split(":")[1][:12] + "  box ", self.hearth("image", "list").stdout)
        pruned = self.hearth("image", "prune")
        self.assertIn("removed " + first, pruned.stdout.splitlines())
        self.assertNotIn(second, pruned.stdout)

    def test_a_build_that_fails_shows_its_log(self):
        self.file(
            "hearth.toml",
            CONFIG.format(state=self.folder + "/state") + 'packages = ["no-such-package"]\n',
        )
        failed = self.hearth("run", "-b", "box", script="x = 1")
        self.assertEqual(failed.returncode, 2)
        self.assertIn("No matching distribution found for no-such-package", failed.stderr)

    def test_the_bench_measures_containers(self):
        done = self.hearth(
            "bench", "-b", "other", "-n", "1", "-t", "20", "--pool-size", "1", "--json"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["verdicts"], {"ok": 20})

    def test_what_a_killed_hearth_left_is_gone_with_the_next(self):
        process = subprocess.Popen(
            [HEARTH, "run", "-b", "box", "-"],
            cwd=self.folder,
            env={**os.environ, "DOCKER_HOST": ENGINE, "HEARTH_CONFIG": self.config},
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
        self.assertEqual(self.hearth("run", "-q", "-b", "box", script="print(1)").stdout, "1\n")
        self.assertEqual(self.containers(), [])

    def test_an_engine_that_is_not_there_is_explained(self):
        done = self.hearth(
            "run", "-b", "box", script="x = 1", environment={"DOCKER_HOST": "unix:///no/such.sock"}
        )
        self.assertEqual(done.returncode, 3)
        # Which of them depends on where the tests run.
        self.assertRegex(
            done.stderr,
            "install and start Docker, or set DOCKER_HOST|start it with -v /no/such.sock",
        )
        doctor = self.hearth("doctor", environment={"DOCKER_HOST": "unix:///no/such.sock"})
        self.assertIn(
            "no engine, and none needed; `hearth run --backend docker` says why", doctor.stdout
        )
        self.assertRegex(
            self.hearth("doctor").stdout, r"Docker +Docker/.*API 1\.\d+.*runtimes .*runc"
        )


class InAContainer(DockerTest):
    """Beside the containers it makes, through the socket of the host's engine."""

    def controller(self, *options, script):
        """Runs hearth in a container of its own, with this machine's programs and libraries."""
        command = [
            "docker",
            "-H",
            ENGINE,
            "run",
            "--rm",
            "-i",
            "--network",
            "none",
            "-v",
            "/usr:/usr:ro",
        ]
        command += [
            "-v",
            os.path.dirname(HEARTH) + ":/hearth-bin:ro",
            "-v",
            self.folder + ":/controller",
        ]
        command += [
            *options,
            "python:3.11-slim",
            "/hearth-bin/hearth",
            "run",
            "-q",
            "-c",
            "/controller/inside.toml",
            "-b",
            "box",
        ]
        return subprocess.run(
            command,
            input=script,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def test_b22_a_hearth_in_a_container_makes_siblings_with_the_hosts_files(self):
        os.mkdir(self.folder + "/data")
        os.chmod(self.folder + "/data", 0o777)
        self.file("data/greeting.txt", "from the host")
        with_files = CONFIG.format(state="/controller/state").replace(
            '[[blueprint]]\nname = "other"',
            '[[blueprint.resources]]\nhost_path = "/controller/data"\n'
            'container_path = "/data"\nread_only = false\n'
            '[[blueprint]]\nname = "other"',
        )
        self.file("inside.toml", with_files + f'[host_path_map]\n"/controller" = "{self.folder}"\n')
        script = (
            "print(open('/data/greeting.txt').read())\n"
            "_ = open('/data/answer.txt', 'w').write('from the sandbox')\n"
        )
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
        done = self.controller(
            "-v", SOCKET + ":/var/run/docker.sock", "--user", "10001:10001", script="x = 1"
        )
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("--group-add", done.stderr)


class NativeInAContainer(DockerTest):
    """Native sandboxes inside a container that was started with the flags of docs/containers.md."""

    def setUp(self):
        super().setUp()
        self.name = "hearth-test-" + os.path.basename(self.folder)
        with open(SOURCE + "/docs/containers.md") as page:
            self.commands = [
                block.replace("\\\n", " ")
                for block in re.findall(r"```sh\n(.*?)```", page.read(), re.S)
            ]

    def command(self, *marks):
        """The one command of the page with all marks, for a group and files of this test."""
        (found,) = (command for command in self.commands if all(mark in command for mark in marks))
        return (
            found.replace("/hearth:", f"/{self.name}:")
            .replace("/hearth ", f"/{self.name} ")
            .replace("/hearth\n", f"/{self.name}\n")
        )

    def make_groups(self):
        mark = "/memory/" if os.path.isdir("/sys/fs/cgroup/memory") else "subtree_control"
        prepare = self.command("mkdir", mark)
        groups = re.findall(r"/sys/fs/cgroup/\S*" + self.name, prepare)
        subprocess.run(["sh", "-ec", prepare], check=True)
        self.addCleanup(lambda: [self.remove_group(group) for group in groups])
        return groups

    def remove_group(self, group):
        """A hearth that was killed leaves its groups, and the kernel may count a dead process for a
        moment."""
        for _ in range(1000):
            try:
                for folder, _, _ in os.walk(group, topdown=False):
                    os.rmdir(folder)
                return
            except OSError:
                time.sleep(0.01)
        self.fail(group + " is still in use")

    def container(self, command, *extra, script):
        """Starts a documented command with this machine's programs and libraries, and a script."""
        words = shlex.split(command)
        image = words.index("IMAGE")
        flags = [
            word.replace("docs/", SOURCE + "/docs/")
            for word in words[words.index("run") + 1 : image]
        ]
        inside = ["/hearth-bin/hearth" if word == "hearth" else word for word in words[image + 1 :]]
        os.makedirs(self.folder + "/work", exist_ok=True)
        self.file("work/script.py", script)
        self.addCleanup(
            subprocess.run,
            ["docker", "-H", ENGINE, "rm", "-f", self.name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return subprocess.Popen(
            [
                "docker",
                "-H",
                ENGINE,
                "run",
                "--rm",
                "--name",
                self.name,
                "--network",
                "none",
                "-v",
                "/usr:/usr:ro",
            ]
            + [
                "-v",
                os.path.dirname(HEARTH) + ":/hearth-bin:ro",
                "-v",
                self.folder + "/work:/home:ro",
                "-w",
                "/home",
            ]
            + [*flags, *extra, "python:3.11-slim", *inside],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def output(self, process):
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, out, errors

    def run_command(self):
        mark = ":/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "--cgroupns"
        return self.command("docker run", mark)

    def processes_in(self, group):
        pids = []
        for folder, _, _ in os.walk(group):
            with open(folder + "/cgroup.procs") as file:
                pids += file.read().split()
        return pids

    def check_from_the_host(self, pids):
        processes = {}
        for pid in pids:
            with open(f"/proc/{pid}/status") as file:
                processes[pid] = dict(line.rstrip("\n").split(":\t", 1) for line in file)
        for status in processes.values():
            users = {int(number) for number in (status["Uid"] + "\t" + status["Gid"]).split()}
            self.assertGreaterEqual(min(users), 0x77400000)
            self.assertEqual(status["Groups"].strip(), "")
        # The zygote and its launcher have a group, too, but the sandbox is deeper in pid
        # namespaces.
        deepest = max(len(status["NSpid"].split()) for status in processes.values())
        inside = {
            pid: status
            for pid, status in processes.items()
            if len(status["NSpid"].split()) == deepest
        }
        self.assertGreaterEqual(len(inside), 2)
        self.assertLess(len(inside), len(processes))
        for pid, status in inside.items():
            self.check_sandbox_process(pid, status)

    def check_sandbox_process(self, pid, status):
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{pid}/{name}") as file:
                (line,) = file.read().splitlines()
            _, outside, count = (int(number) for number in line.split())
            self.assertEqual((outside >= 0x77400000, count), (True, 1))

    def test_the_documented_flags_are_enough_and_sandboxes_are_closed(self):
        groups = self.make_groups()
        for extra in ([], ["--cap-add", "SYS_ADMIN"]):
            with self.subTest(extra=extra):
                waiting = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(60)\n"
                process = self.container(self.run_command(), *extra, script=waiting)
                with process, process.stdout, process.stderr:
                    begun = process.stdout.readline()
                    self.assertEqual(begun, "begun\n", begun or process.stderr.read())
                    self.check_from_the_host(self.processes_in(groups[0]))
                    self.docker("kill", self.name)
                    process.communicate(timeout=PATIENCE_SECONDS)

    def test_limits_hold_in_a_documented_container(self):
        self.make_groups()
        command = self.run_command().replace("hearth run", "hearth run -q --memory 64M")
        code, _, errors = self.output(self.container(command, script="x = bytearray(1 << 28)"))
        self.assertEqual(code, 137, errors)

    def test_without_a_group_a_script_runs_at_the_first_command_and_limits_are_degraded(self):
        command = self.command("docker run", "--memory 1g")
        code, out, errors = self.output(self.container(command, script="print('ok')"))
        self.assertEqual((code, out), (0, "ok\n"), errors)
        (summary,) = errors.splitlines()
        self.assertIn("(degraded: memory, pids, cpu)", summary)
        script = "x = bytearray(600 << 20)"
        code, _, errors = self.output(self.container(command, script=script))
        self.assertEqual(code, 1, errors)
        self.assertIn("MemoryError", errors)

    def test_without_a_group_a_pool_is_refused_and_the_missing_flag_is_named(self):
        command = self.command("docker run", "--memory 1g")
        bench = command.replace("hearth run script.py", "hearth bench --script script.py --turns 1")
        code, _, errors = self.output(self.container(bench, script="print('ok')"))
        self.assertEqual(code, 3, errors)
        self.assertIn("-v /sys/fs/cgroup", errors)
        self.assertIn("--allow-degraded", errors)

    def test_each_flag_that_is_missing_is_named(self):
        degraded = self.command("docker run", "--memory 1g")
        for flag, named in (
            ("--security-opt systempaths=unconfined", "--security-opt systempaths=unconfined"),
            ("--security-opt seccomp=docs/container-seccomp.json", "--security-opt seccomp="),
            ("--cap-add SETGID", "--cap-add SETGID"),
        ):
            with self.subTest(flag=flag):
                self.assertIn(flag, degraded)
                code, _, errors = self.output(
                    self.container(degraded.replace(flag, ""), script="print('ok')")
                )
                self.assertEqual(code, 3, errors)
                self.assertIn(named, errors)


if __name__ == "__main__":
    if os.geteuid() != 0 and os.environ.get("CI") != "true":
        print("not run: tests with Docker need root", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
