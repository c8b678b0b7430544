#!/usr/bin/env python3
"""`hearth image` with native environments: what is built, listed, rebuilt and removed.

Argument: the hearth program.
"""
import contextlib
import json
import os
import pty
import subprocess
import sys
import tempfile
import unittest
import zipfile

HEARTH = os.path.abspath(sys.argv.pop(1))
VERSION = "%d.%d" % sys.version_info[:2]


def blueprint(name, *packages):
    return '[[blueprint]]\nname = "%s"\npython_version = "%s"\ndependencies = %s\n' % (
        name,
        VERSION,
        json.dumps(packages),
    )


class Image(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.wheels = os.path.join(self.place, "wheels")
        os.mkdir(self.wheels)
        os.chmod(self.place, 0o755)

    def wheel(self, name, version):
        info = f"{name}-{version}.dist-info"
        path = os.path.join(self.wheels, f"{name}-{version}-py3-none-any.whl")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}.py", f"version = {version!r}\n")
            archive.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            )
            archive.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{info}/RECORD", "")

    def configure(self, name, *blueprints, builder=None):
        builder = builder or f'no_index = true\nfind_links = ["{self.wheels}"]\n'
        path = os.path.join(self.place, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[state]\ndir = "{self.place}/state"\n[builder]\n{builder}')
            file.write("".join(blueprints))
        return path

    def hearth(self, *arguments, **options):
        return subprocess.run(
            [HEARTH, *arguments], capture_output=True, text=True, timeout=120, **options
        )

    def environments(self):
        return sorted(
            name
            for name in os.listdir(f"{self.place}/state/environments")
            if not name.startswith(".")
        )

    def test_the_list_says_what_each_is_and_when_it_was_used(self):
        self.wheel("tinypkg", "1.0")
        path = self.configure("h.toml", blueprint("box", "tinypkg"))
        built = self.hearth("image", "build", "-c", path)
        self.assertEqual(built.returncode, 0, built.stderr)
        header, row = self.hearth("image", "list", "-c", path).stdout.splitlines()
        self.assertEqual(
            header.split(), "ID BLUEPRINT PYTHON PACKAGES SIZE LAST USED STATE".split()
        )
        checksum = os.path.basename(built.stdout.strip())
        self.assertRegex(
            row, rf"^{checksum[:12]}  box +{VERSION}[.0-9]+ +tinypkg .* s ago +current$"
        )
        listed = json.loads(self.hearth("image", "list", "-c", path, "--json").stdout)
        self.assertEqual(
            (listed["blueprints"], listed["packages"], listed["configurations"]),
            (["box"], ["tinypkg"], [path]),
        )
        # It is noted before the build begins.
        self.assertLess(abs(listed["last_used"] - listed["created"]), 120)

    def test_blueprints_that_share_an_environment_are_built_and_rebuilt(self):
        path = self.configure("h.toml", blueprint("a"), blueprint("b"))
        for more in ([], ["--rebuild"]):
            done = self.hearth("image", "build", "-c", path, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(set(done.stdout.splitlines())), 1, done.stdout)
        self.assertIn("  a, b  ", self.hearth("image", "list", "-c", path).stdout)

    def test_what_is_in_use_is_neither_rebuilt_nor_removed(self):
        path = self.configure("h.toml", blueprint("box"))
        session = subprocess.Popen(
            [HEARTH, "run", "-i", "--json", "-c", path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with session:
            session.stdin.write('{"code": "1"}\n')
            session.stdin.flush()
            session.stdout.readline()  # it runs
            rebuilt = self.hearth("image", "build", "-c", path, "--rebuild")
            self.assertEqual(rebuilt.returncode, 2)
            self.assertIn('blueprint "box" is in use; it can be rebuilt when', rebuilt.stderr)
            self.configure("h.toml", blueprint("box", "another"))
            self.assertEqual(self.hearth("image", "prune", "-c", path, "--all").stdout, "")
            session.stdin.close()
        self.assertEqual(self.hearth("image", "prune", "-c", path).stdout.count("removed "), 1)

    def test_prune_keeps_what_another_configuration_uses(self):
        self.wheel("one", "1.0")
        self.wheel("two", "1.0")
        first = self.configure("first.toml", blueprint("a", "one"))
        second = self.configure("second.toml", blueprint("b", "two"))
        for path in (first, second):
            self.assertEqual(self.hearth("image", "build", "-c", path).returncode, 0)
        both = self.environments()
        done = self.hearth("image", "prune", "-c", first)
        self.assertEqual(
            (done.stdout, done.stderr),
            ("", "hearth: nothing to remove; --all removes also what other configurations used\n"),
        )
        self.assertEqual(self.environments(), both)

        # The first no longer wants its own.
        self.configure("first.toml", blueprint("a"))
        dry = self.hearth("image", "prune", "-c", first, "--dry-run").stdout
        self.assertEqual(self.environments(), both)
        self.assertEqual(dry.count("would remove "), 1)
        done = self.hearth("image", "prune", "-c", first).stdout
        self.assertEqual(done, dry.replace("would remove", "removed"))
        self.assertEqual(len(self.environments()), 1)

        everything = self.hearth("image", "prune", "-c", first, "--all").stdout
        self.assertEqual(everything.count("removed "), 1)
        self.assertEqual(self.environments(), [])

    def test_what_two_configurations_used_goes_when_neither_wants_it(self):
        paths = [self.configure(name, blueprint("a")) for name in ("first.toml", "second.toml")]
        for path in paths:
            self.assertEqual(self.hearth("image", "build", "-c", path).returncode, 0)
        self.assertEqual(len(self.environments()), 1)
        self.wheel("one", "1.0")
        for path in paths:
            self.configure(os.path.basename(path), blueprint("a", "one"))
        self.assertEqual(self.hearth("image", "prune", "-c", paths[0]).stdout, "")
        self.assertEqual(len(self.environments()), 1)
        self.assertIn("removed ", self.hearth("image", "prune", "-c", paths[1]).stdout)
        self.assertEqual(self.environments(), [])

    def test_a_rebuild_takes_the_newest_packages(self):
        self.wheel("tinypkg", "1.0")
        config = blueprint("box", "tinypkg")
        index = os.path.join(self.place, "index", "tinypkg")
        os.makedirs(index)

        # An index, as a directory of wheels is part of an environment's identity.
        def publish(version):
            self.wheel("tinypkg", version)
            name = f"tinypkg-{version}-py3-none-any.whl"
            os.rename(os.path.join(self.wheels, name), os.path.join(index, name))
            links = "".join(f'<a href="{file}">{file}</a>' for file in os.listdir(index))
            with open(os.path.join(index, "index.html"), "w", encoding="utf-8") as file:
                file.write(f"<html><body>{links}</body></html>")

        server = subprocess.Popen(
            [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"],
            cwd=os.path.dirname(index),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        port = server.stdout.readline().split("port ")[1].split()[0]
        path = self.configure("h.toml", config, builder=f'index_url = "http://127.0.0.1:{port}/"\n')

        def version():
            script = "import tinypkg; print(tinypkg.version)"
            done = self.hearth("run", "-c", path, "-", input=script)
            return done.stdout.strip() or done.stderr

        publish("1.0")
        self.assertEqual(version(), "1.0")
        publish("2.0")
        again = self.hearth("image", "build", "-c", path)
        self.assertRegex(again.stderr, r"^box: up to date \(built \d+ s ago\)\n$")
        self.assertEqual(version(), "1.0")
        rebuilt = self.hearth("image", "build", "-c", path, "--rebuild", "box")
        self.assertEqual((rebuilt.returncode, rebuilt.stdout), (0, again.stdout))
        self.assertTrue(rebuilt.stderr.endswith("box: built\n"), rebuilt.stderr)
        self.assertEqual(version(), "2.0")

    def test_failures_are_told_once_and_the_good_ones_are_built(self):
        self.wheel("good", "1.0")
        path = self.configure(
            "h.toml",
            blueprint("a", "no-such-one"),
            blueprint("b", "good"),
            blueprint("c", "no-such-two"),
        )
        done = self.hearth("image", "build", "-c", path)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        for name, package in (("a", "no-such-one"), ("c", "no-such-two")):
            said = f"{name}: ERROR: No matching distribution found for {package}\n"
            self.assertEqual(done.stderr.count(said), 1, done.stderr)
            self.assertEqual(
                done.stderr.count(f'hearth: build the environment of blueprint "{name}": '), 1
            )
        self.assertNotIn("requirements.txt", done.stderr)
        self.assertIn("b: built\n", done.stderr)
        quiet = self.hearth("image", "build", "-q", "-c", path)
        self.assertEqual(quiet.stderr.count("ERROR: No matching distribution found for "), 2)

    def test_a_terminal_shows_the_log_of_a_build_once(self):
        path = self.configure("h.toml", blueprint("a", "no-such-one"))
        ours, theirs = pty.openpty()
        for command in ("run", "bench"):
            done = subprocess.run(
                [HEARTH, command, "-c", path], stdin=subprocess.DEVNULL, stderr=theirs, timeout=120
            )
            self.assertEqual(done.returncode, 2)
        os.close(theirs)
        with os.fdopen(ours, "rb") as terminal:
            said = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while True:
                    said += terminal.read1()
        self.assertEqual(said.count(b"a: ERROR: No matching distribution found for"), 2, said)
        self.assertEqual(said.count(b"ERROR: No matching distribution found for"), 2, said)

    def test_an_index_that_cannot_be_reached_is_the_cause(self):
        path = self.configure(
            "h.toml", blueprint("a", "pandas"), builder='index_url = "http://127.0.0.1:1/"\n'
        )
        done = self.hearth("image", "build", "-q", "-c", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn(
            '"a": the package index cannot be reached (Connection refused); find_links and ',
            done.stderr.splitlines()[-1],
        )


if __name__ == "__main__":
    unittest.main()
