#!/usr/bin/env python3
"""What another user of the machine can do to a Hearth that root runs: nothing. Arguments: the
programs hearth and hearth-embed-example. Needs root, which alone can make files of another user."""
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from programs import copy_programs

EXAMPLE = os.path.abspath(sys.argv.pop())
HEARTH = os.path.abspath(sys.argv.pop())
SKIPPED = 77  # what CTest takes for "not run"
STRANGER = 65534
OTHER = 65533
PATIENCE_SECONDS = 60
VERSION = "%d.%d" % sys.version_info[:2]
SANDBOX = f'[[blueprint]]\nname = "default"\npython_version = "{VERSION}"\n'


def give_away(path):
    for folder, _, files in os.walk(path):
        for name in [folder, *(os.path.join(folder, file) for file in files)]:
            os.chown(name, STRANGER, STRANGER, follow_symlinks=False)


class Trust(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.chmod(self.root, 0o755)
        self.home = self.directory("home")
        self.mark = os.path.join(self.root, "mark")

    def directory(self, name):
        path = os.path.join(self.root, name)
        os.makedirs(path)
        return path

    def file(self, name, text, mode=0o644):
        path = os.path.join(self.root, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def run_program(self, *command, script="", timeout=PATIENCE_SECONDS, **variables):
        return subprocess.run(
            command,
            input=script,
            cwd=self.home,
            env={**os.environ, "HEARTH_STATE_DIR": self.root + "/state", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=timeout,
        )

    def impostor(self, name):
        """A program that says of itself what the real Python says, and leaves a mark."""
        return self.file(name, f'#!/bin/sh\ntouch {self.mark}\nexec {sys.executable} "$@"\n', 0o755)

    def assert_refused(self, done, path, remedy):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(f"trust {path}: ", done.stderr)
        self.assertIn(remedy, done.stderr)
        self.assertFalse(os.path.exists(self.mark))

    def test_a_configuration_in_the_directory_of_another_user_is_refused_with_the_reason(self):
        self.file("home/loot", "loot")
        self.file(
            "home/hearth.toml",
            SANDBOX + 'secrets = ["LOOT"]\n[secrets]\nLOOT = { file = "loot" }\n',
        )
        script = "import os; print(os.environ['LOOT'])"
        self.assertEqual(self.run_program(HEARTH, "run", "-q", script=script).stdout, "loot\n")
        give_away(self.home)
        self.assert_refused(
            self.run_program(HEARTH, "run", "-q", script=script),
            self.home,
            "copy what is needed to a directory of root",
        )
        os.chown(self.home, 0, 0)
        config = self.home + "/hearth.toml"
        self.assert_refused(
            self.run_program(HEARTH, "run", "-q", script=script), config, f"chown root {config}"
        )
        self.assert_refused(
            self.run_program(HEARTH, "config", "check", config), config, f"chown root {config}"
        )

    def test_a_configuration_that_was_only_found_reaches_nothing_outside_of_its_directory(self):
        loot = self.file("loot", "loot")
        self.file(
            "home/hearth.toml",
            SANDBOX + f'secrets = ["LOOT"]\n[secrets]\nLOOT = {{ file = "{loot}" }}\n',
        )
        script = "import os; print(os.environ['LOOT'])"
        done = self.run_program(HEARTH, "run", "-q", script=script)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(
            "hearth.toml:6:17: error: secrets.LOOT.file reaches outside of " + self.home,
            done.stderr,
        )
        self.assertIn("--config hearth.toml, or HEARTH_CONFIG", done.stderr)
        named = self.run_program(HEARTH, "run", "-q", "--config", "hearth.toml", script=script)
        self.assertEqual(named.stdout, "loot\n", named.stderr)
        by_variable = self.run_program(
            HEARTH, "run", "-q", script=script, HEARTH_CONFIG="hearth.toml"
        )
        self.assertEqual(by_variable.stdout, "loot\n", by_variable.stderr)

    def test_secrets_and_tools_of_another_user_are_refused(self):
        tool = self.file("home/greet.py", "def greet(): return 'hello'\n")
        key = self.file("home/key", "key")
        self.file(
            "home/hearth.toml",
            SANDBOX + 'secrets = ["KEY"]\n[secrets]\nKEY = { file = "key" }\n'
            '[[tool]]\nname = "greet"\nfile = "greet.py"\nblueprints = ["default"]\n',
        )
        for path in tool, key:
            os.chown(path, STRANGER, STRANGER)
            self.assert_refused(
                self.run_program(HEARTH, "run", "-q", script="print(1)"), path, f"chown root {path}"
            )
            os.chown(path, 0, 0)
        self.assertEqual(
            self.run_program(HEARTH, "run", "-q", script="print(greet())").stdout, "hello\n"
        )

    def test_no_link_of_another_user_leads_what_a_script_left_elsewhere(self):
        place = self.directory("place")
        shared = self.directory("shared")
        os.symlink(place, shared + "/link")
        os.symlink("/dev/null", shared + "/device")
        os.makedirs(shared + "/own")
        give_away(shared)
        for link in "link", "device":
            os.chown(f"{shared}/{link}", STRANGER, STRANGER, follow_symlinks=False)
        session = self.run_program(HEARTH, "session", "new").stdout.strip()
        script = "open('job', 'w').write('x')"
        for words in (
            ["run", "--get", f"job:{shared}/link/job"],
            ["run", "--get", f"job:{shared}/link/"],
            ["run", "--get", f".:{shared}/link/new"],
            ["run", "--save", f"{shared}/link"],
            ["run", "--save", f"{shared}/link/"],
            ["run", "--save", f"{shared}/link/a/b"],
            ["run", "--force", "--save", f"{shared}/link/"],
            ["session", "export", session, f"{shared}/link/job"],
            ["session", "export", session, f"{shared}/device"],
            ["init", f"{shared}/link/new"],
            ["init", f"{shared}/new"],
        ):
            done = self.run_program(HEARTH, *words, script=script)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (words, done.stderr))
            self.assertEqual(os.listdir(place), [], words)
        self.assertEqual(sorted(os.listdir(shared)), ["device", "link", "own"])
        # Without a link there is nothing to be led by: the files are root's, in that user's place.
        done = self.run_program(HEARTH, "run", "--save", f"{shared}/own", script=script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.stat(f"{shared}/own/job").st_uid, 0)

    def planted(self, state):
        """An environment of another user whose manifest names a program of that user."""
        self.assertEqual(self.run_program(EXAMPLE, state).returncode, 0)
        (environment,) = (
            entry.path for entry in os.scandir(state + "/environments") if len(entry.name) == 64
        )
        impostor = self.impostor("impostor")
        facts = os.stat(impostor)
        with open(environment + "/manifest") as file:
            manifest = json.load(file)
        manifest["python"].update(
            path=impostor,
            inode=str(facts.st_ino),
            size_bytes=facts.st_size,
            modified_ns=str(facts.st_mtime_ns),
        )
        with open(environment + "/manifest", "w") as file:
            json.dump(manifest, file)
        with open(environment + "/tools/greeter.py", "w") as file:
            file.write("def greet(name): return 'TOOL OF A STRANGER'\n")
        return environment

    def test_a_state_directory_that_another_user_planted_is_refused(self):
        state = self.root + "/planted"
        self.planted(state)
        give_away(state)
        done = self.run_program(EXAMPLE, state)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn(f"trust {state}: it belongs to user {STRANGER}", done.stderr)
        self.assertFalse(os.path.exists(self.mark))

    def test_the_example_uses_no_name_that_another_user_can_take_first(self):
        self.planted(self.root + "/hearth-embed-example")
        give_away(self.root + "/hearth-embed-example")
        done = self.run_program(EXAMPLE, TMPDIR=self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Good evening, Bob", done.stdout)
        self.assertNotIn("STRANGER", done.stdout)
        self.assertFalse(os.path.exists(self.mark))
        left = [name for name in os.listdir(self.root) if name.startswith("hearth-embed-")]
        self.assertEqual(left, ["hearth-embed-example"])

    def test_what_a_manifest_names_is_not_executed(self):
        state = self.root + "/own"
        environment = self.planted(state)
        done = self.run_program(EXAMPLE, state)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.mark))
        with open(environment + "/manifest") as file:
            self.assertNotIn("impostor", file.read())

    def test_a_python_in_a_directory_of_another_user_is_not_run(self):
        evil = self.directory("evil")
        for name in "python", "python3", "python" + VERSION:
            self.impostor("evil/" + name)
        give_away(evil)
        self.file("home/greet.py", "def greet(): return 'hello'\n")
        self.file(
            "home/hearth.toml",
            SANDBOX + '[[tool]]\nname = "greet"\nfile = "greet.py"\nblueprints = ["default"]\n',
        )
        done = self.run_program(
            HEARTH, "run", "-q", script="print(greet())", PATH=f"{evil}:{os.environ['PATH']}"
        )
        self.assertEqual(done.stdout, "hello\n", done.stderr)
        self.assertFalse(os.path.exists(self.mark))

    def test_programs_in_a_named_directory_of_another_user_are_not_run(self):
        named = self.directory("libexec")
        copy_programs(HEARTH, named)
        good = self.run_program(HEARTH, "run", "-q", script="print(1)", HEARTH_LIBEXEC=named)
        self.assertEqual(good.stdout, "1\n", good.stderr)
        give_away(named)
        bad = self.run_program(HEARTH, "run", "-q", script="print(1)", HEARTH_LIBEXEC=named)
        self.assert_refused(bad, named, "copy what is needed to a directory of root")

    def test_a_module_of_the_harness_that_another_user_has_written_is_not_run(self):
        named = self.directory("libexec")
        copy_programs(HEARTH, named)
        module = os.path.join(named, "executor_harness", "worker.py")
        os.chown(module, STRANGER, STRANGER)
        bad = self.run_program(HEARTH, "run", "-q", script="print(1)", HEARTH_LIBEXEC=named)
        self.assert_refused(bad, module, f"chown root {module}")

    def sticky_copy(self):
        """What a download into a directory like /tmp leaves there."""
        named = self.directory("downloads")
        copy_programs(HEARTH, named)
        os.chmod(named, 0o1777)
        return named

    def test_programs_of_another_user_beside_hearth_in_a_sticky_directory_are_not_run(self):
        named = self.sticky_copy()
        good = self.run_program(named + "/hearth", "run", "-q", script="print(1)")
        self.assertEqual(good.stdout, "1\n", good.stderr)
        for name in "hearth-launcher", "hearth-init", "libhearth-isolate.so", "executor_harness":
            path = os.path.join(named, name)
            os.chown(path, STRANGER, STRANGER)
            bad = self.run_program(named + "/hearth", "run", "-q", script="print(1)")
            self.assert_refused(bad, path, f"chown root {path}")
            os.chown(path, 0, 0)

    def run_as(self, user, hearth):
        state = self.directory(f"state-of-{user}")
        os.chown(state, user, user)
        return subprocess.run(
            [hearth, "run", "-q", "--allow-degraded", "-"],
            input="print(1)",
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "HEARTH_STATE_DIR": state},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
            user=user,
            group=user,
            extra_groups=[],
        )

    def test_an_ordinary_user_runs_programs_of_its_own_and_of_root_but_of_no_third_user(self):
        named = self.sticky_copy()
        launcher = os.path.join(named, "hearth-launcher")
        for owner in 0, OTHER:
            os.chown(launcher, owner, owner)
            done = self.run_as(OTHER, named + "/hearth")
            self.assertEqual(done.stdout, "1\n", done.stderr)
            shutil.rmtree(f"{self.root}/state-of-{OTHER}")
        os.chown(launcher, STRANGER, STRANGER)
        self.assert_refused(
            self.run_as(OTHER, named + "/hearth"), launcher, f"chown {OTHER} {launcher}"
        )

    def test_a_build_directory_that_its_owners_group_can_write_serves_its_owner_and_root(self):
        build = self.directory("build")
        copy_programs(HEARTH, build)
        give_away(build)
        for place, _, files in os.walk(build):
            for path in [place, *(os.path.join(place, file) for file in files)]:
                os.chmod(path, os.stat(path).st_mode | 0o020)
        for done in (
            self.run_as(STRANGER, build + "/hearth"),
            self.run_program(build + "/hearth", "run", "-q", script="print(1)"),
        ):
            self.assertEqual(done.stdout, "1\n", done.stderr)

    def hold_as_stranger(self, folder):
        """A process of another user locks every file below `folder` that it can open, until the
        test is over."""
        answer, says = os.pipe()
        stops, stop = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(stop)
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            held = {}
            for path in (
                os.path.join(place, name) for place, _, names in os.walk(folder) for name in names
            ):
                try:
                    held[path] = open(path)
                    fcntl.flock(held[path], fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    pass
            os.write(says, json.dumps(list(held)).encode() + b"\n")
            os.read(stops, 1)
            os._exit(0)
        os.close(says)
        self.addCleanup(os.close, stops)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.close, stop)
        with open(answer) as lines:
            return json.loads(lines.readline())

    def test_another_user_cannot_hold_the_locks(self):
        first = self.run_program(HEARTH, "run", "-q", script="print(1)")
        self.assertEqual(first.stdout, "1\n", first.stderr)
        held = self.hold_as_stranger(self.root + "/state")
        self.assertEqual([path for path in held if "lock" in path], [])
        again = self.run_program(HEARTH, "run", "-q", script="print(1)")
        self.assertEqual(again.stdout, "1\n", again.stderr)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("not run: only root can make files of another user", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
