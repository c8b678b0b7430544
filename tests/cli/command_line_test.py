#!/usr/bin/env python3
"""What `hearth` says when it is called wrongly, its shorthands, and its first configuration.

Argument: the hearth program.
"""
import os
import pty
import subprocess
import sys
import tempfile
import unittest

HEARTH = os.path.abspath(sys.argv.pop(1))


class CommandLine(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def hearth(self, *arguments, **options):
        return subprocess.run(
            [HEARTH, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=self.place,
            **options,
        )

    def write(self, name, text):
        path = os.path.join(self.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_what_was_mistyped_is_named_with_what_was_meant(self):
        rows = [
            (["rn", "x"], 'hearth: no command "rn"; did you mean run?'),
            (["confg", "check"], 'hearth: no command "confg"; did you mean config?'),
            (["config", "chekc"], 'hearth config: no command "chekc"; did you mean check?'),
            (["session", "shw"], 'hearth session: no command "shw"; did you mean show?'),
            (["image", "lst"], 'hearth image: no command "lst"; did you mean list?'),
            (
                ["image", "list", "--jsn"],
                "hearth image list: no option --jsn; did you mean --json?",
            ),
            (
                ["run", "--timout", "5", "x.py"],
                "hearth run: no option --timout; did you mean --timeout?",
            ),
            (["bench", "--turs=4"], "hearth bench: no option --turs; did you mean --turns?"),
            (["--verison"], "hearth: no option --verison; did you mean --version?"),
            (["doctor", "x"], 'hearth doctor: no argument is expected here: "x"'),
            (["quite-different"], 'hearth: no command "quite-different" ('),
            (["help", "rn"], 'hearth: no command "rn"; did you mean run?'),
            (
                ["--backend", "docker", "run", "x.py"],
                "hearth: --backend stands before the command it belongs to; write hearth run "
                "--backend ...",
            ),
            (["-t", "5", "run", "x.py"], "hearth: -t stands before the command it belongs to"),
        ]
        for arguments, said in rows:
            with self.subTest(arguments):
                done = self.hearth(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_what_is_wrong_with_an_option_is_one_line_that_names_the_command(self):
        for arguments, said in (
            (["run", "-m", "much", "x.py"], "hearth run: --memory: expects megabytes or a size"),
            (["run", "--backend", "podman", "x.py"], "hearth run: --backend: podman not in {"),
            (["run", "--timeout"], "hearth run: --timeout: 1 required "),
            (["session", "run"], "hearth session run: "),
        ):
            with self.subTest(arguments):
                done = self.hearth(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr.startswith(said), done.stderr)
                self.assertTrue(done.stderr.endswith("--help` explains it)\n"), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_on_a_terminal_it_asks_for_a_file_and_waits_for_none(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        done = self.hearth("run", stdin=theirs)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("hearth run: FILE, - or --interactive is required", done.stderr)

    def test_help_explains_a_command(self):
        for arguments, usage in [
            (["help"], "Usage: hearth [OPTIONS]"),
            (["help", "config"], "Usage: hearth config [OPTIONS]"),
            (["help", "config", "check"], "Usage: hearth config check [OPTIONS]"),
        ]:
            with self.subTest(arguments):
                done = self.hearth(*arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(usage, done.stdout)

    def test_a_command_of_commands_alone_prints_its_usage(self):
        for command in ("config", "image", "session"):
            with self.subTest(command):
                done = self.hearth(command)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"Usage: hearth {command} [OPTIONS] [SUBCOMMAND]", done.stderr)

    def test_a_script_alone_is_run(self):
        self.write("a.py", "print('from a file')")
        self.write("no_suffix", "print('from another')")
        self.assertEqual(self.hearth("a.py").stdout, "from a file\n")
        self.assertEqual(self.hearth("no_suffix", "--quiet").stdout, "from another\n")
        self.assertEqual(self.hearth("-", input="print('typed')").stdout, "typed\n")
        missing = self.hearth("missing.py")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("read missing.py: No such file", missing.stderr)

    def test_a_file_whose_name_is_an_option_is_not_taken_for_one(self):
        self.write("a.py", "print('a')")
        self.write("--config=b.py", "print('b')")
        self.write("b.py", '[[blueprint]]\nname = "default"\nnot_a_key = 1\n')
        names = sorted(name for name in os.listdir(self.place) if name != "b.py")
        for arguments in (names, ["run", *names], ["session", "run", "ses_1", *names[:1]]):
            done = self.hearth(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn('hearth: "--config=b.py" is an option, and the name of', done.stderr)
            self.assertIn('The file is "./--config=b.py"', done.stderr)
        for meant in (["a.py", "./--config=b.py"], ["run", "-q", "--", *reversed(names)]):
            done = self.hearth(*meant)
            self.assertEqual((done.returncode, done.stdout), (0, "a\nb\n"), done.stderr)

    def test_a_mount_whose_source_is_missing_is_named_with_its_key(self):
        self.write(
            "h.toml",
            "[[blueprint]]\nname = 'default'\n"
            "[[blueprint.resources]]\nhost_path = '/no/such'\ncontainer_path = '/data'\n",
        )
        done = self.hearth("run", "-c", "h.toml", input="print(1)")
        self.assertEqual(done.returncode, 2)
        self.assertIn(
            "h.toml:4:13: error: blueprint[0].resources[0].host_path does not exist here",
            done.stderr,
        )

    def test_each_key_of_a_section_can_be_set_on_the_command_line(self):
        state = os.path.join(self.place, "state")
        done = self.hearth("run", "--set", f"state.dir={state}", "-", input="print(1)")
        self.assertEqual(done.stdout, "1\n", done.stderr)
        self.assertTrue(os.path.isdir(os.path.join(state, "environments")))
        for command in ("run", "bench", "config check", "image list"):
            with self.subTest(command):
                said = self.hearth(*command.split(), "--help").stdout
                for section in ("log", "pool", "docker", "session", "store"):
                    self.assertIn(f"[{section}]", said)
                wrong = self.hearth(*command.split(), "--set", "pool.max_use=1", input="print(1)")
                self.assertEqual(wrong.returncode, 2)
                nothing = self.hearth(*command.split(), "--set", "pool", input="print(1)")
                self.assertEqual(nothing.returncode, 2)
                self.assertIn("expects section.key=value, got pool", nothing.stderr)

    def test_init_writes_a_configuration_that_runs_at_once(self):
        done = self.hearth("init")
        self.assertEqual(done.returncode, 0, done.stderr)
        check = self.hearth("config", "check")
        self.assertEqual((check.returncode, check.stderr), (0, ""))
        ran = self.hearth("run", input='print(count_words("to be or not to be").data)')
        self.assertEqual(ran.stdout, "{'words': 6, 'distinct': 4}\n", ran.stderr)
        with open(os.path.join(self.place, "hearth.toml"), encoding="utf-8") as file:
            self.assertLessEqual(len(file.readlines()), 16)

    def test_init_makes_the_directory_with_a_mode_that_is_trusted(self):
        done = self.hearth("init", "new/project", umask=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cd new/project\n", done.stdout)
        for name in ("new", "new/project", "new/project/tools"):
            self.assertEqual(os.stat(os.path.join(self.place, name)).st_mode & 0o777, 0o755)
        check = self.hearth("config", "check", "new/project/hearth.toml")
        self.assertEqual(check.returncode, 0, check.stderr)

    def test_init_replaces_nothing(self):
        for name in ("hearth.toml", "tools/example.py"):
            with self.subTest(name), tempfile.TemporaryDirectory(dir=self.place) as place:
                path = self.write(os.path.join(place, name), "mine")
                done = self.hearth("init", place)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"{path} is there already; nothing was written", done.stderr)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), "mine")
                files = [file for _, _, found in os.walk(place) for file in found]
                self.assertEqual(files, [os.path.basename(name)])

    @unittest.skipIf(os.geteuid() != 0, "only root can give a link away")
    def test_init_writes_nothing_where_another_user_leads_it_elsewhere(self):
        with tempfile.TemporaryDirectory(dir=self.place) as place:
            elsewhere = os.path.join(place, "elsewhere")
            os.mkdir(elsewhere)
            os.symlink(elsewhere, os.path.join(place, "tools"))
            os.lchown(os.path.join(place, "tools"), 65534, 65534)
            done = self.hearth("init", place)
            self.assertEqual(done.returncode, 2)
            self.assertIn("it belongs to user 65534", done.stderr)
            self.assertEqual(os.listdir(elsewhere), [])
            self.assertEqual(sorted(os.listdir(place)), ["elsewhere", "tools"])


if __name__ == "__main__":
    unittest.main()
