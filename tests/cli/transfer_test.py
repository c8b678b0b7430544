#!/usr/bin/env python3
"""Files into the sandbox of `hearth run` and out of it: --put, --get, --save and what is lost
without them.

Argument: the hearth program.
"""
import base64
import json
import os
import pty
import shutil
import stat
import subprocess
import unittest

from run_case import HEARTH, PATIENCE_SECONDS, RunCase

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# Displays as a figure of matplotlib does.
SHOW = """
import base64
class Figure:
    def __init__(self, image): self.image = image
    def __repr__(self): return '<Figure>'
    def _repr_png_(self): return base64.b64decode(self.image)
"""


class Transfers(RunCase):
    def content(self, *path):
        with open(os.path.join(self.folder.name, *path)) as file:
            return file.read()

    def path(self, *path):
        return os.path.join(self.folder.name, *path)

    def tree(self, directory):
        top = self.path(directory)
        return sorted(
            os.path.relpath(os.path.join(folder, name), top)
            for folder, folders, files in os.walk(top)
            for name in folders + files
        )

    def test_a_file_goes_in_and_another_comes_out_in_every_language(self):
        self.file("data.csv", "1,2\n")
        scripts = {
            "up.py": "open('up.csv', 'w').write(open('data.csv').read() * 2)",
            "up.sh": "cat data.csv data.csv > up.csv",
        }
        if shutil.which("node"):
            scripts["up.js"] = (
                "const fs = require('fs'); const data = fs.readFileSync('data.csv', 'utf8');"
                "fs.writeFileSync('up.csv', data + data)"
            )
        for name, script in scripts.items():
            self.file(name, script)
            out = name + ".csv"
            done = self.run_hearth("--put", "data.csv", "--get", "up.csv:" + out, name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.content(out), "1,2\n1,2\n")
            self.assertIn("copied to %s: 8 bytes\n" % out, done.stderr)
            self.assertNotIn("not kept", done.stderr)  # data.csv is as it was

    def test_put_makes_what_its_path_says(self):
        self.file("data.csv", "1\n")
        os.makedirs(self.path("in/deep"))
        self.file("in/deep/a", "a")
        os.symlink("deep/a", self.path("in/link"))
        os.mkfifo(self.path("in/fifo"))
        os.chmod(self.path("in/deep/a"), 0o750)
        for put, made in (
            ("data.csv", "data.csv"),
            ("data.csv:b.csv", "b.csv"),
            ("data.csv:x/y/", "x/y/data.csv"),
            ("data.csv:.", "data.csv"),
            ("data.csv:/workspace/z", "z"),
            ("data.csv:/tmp/t", "/tmp/t"),
            ("in", "in/deep/a"),
            ("in/", "in/link"),
            ("in:other", "other/deep/a"),
            ("in:.", "deep/a"),
            (".:all", "all/in/deep/a"),
        ):
            script = "import os; print(os.path.exists(%r))" % made
            done = self.run_hearth("-q", "--put", put, script=script)
            self.assertEqual((done.returncode, done.stdout), (0, "True\n"), (put, done.stderr))
        script = "import os; print(oct(os.stat('in/deep/a').st_mode), os.readlink('in/link'))"
        done = self.run_hearth("--put", "in", script=script)
        self.assertEqual(done.stdout, "0o100750 deep/a\n")
        self.assertIn("--put in: left out are special files or mounts: fifo\n", done.stderr)
        self.assertNotIn("not kept", done.stderr)

    def test_each_of_several_files_gets_what_is_put(self):
        self.file("data", "x")
        for name in ("a.py", "b.py"):
            self.file(name, "print(open('data').read()); open('data', 'w').close()")
        done = self.run_hearth("-q", "--put", "data", "a.py", "b.py")
        self.assertEqual((done.returncode, done.stdout), (0, "x\nx\n"), done.stderr)
        for option in (["--get", "data"], ["--save", "out"]):
            done = self.run_hearth(*option, "a.py", "b.py")
            self.assertEqual(done.returncode, 2)
            self.assertIn("each FILE has one of its own", done.stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_what_cannot_be_put_is_told_before_the_script_runs(self):
        self.file("data", "x" * 2_000_000)
        os.mkfifo(self.path("fifo"))
        config = self.file("c.toml", '[[blueprint]]\nname = "small"\nscratch_size_mb = 1\n')
        for put, options, why in (
            ("none", [], "--put none: No such file or directory"),
            ("fifo", [], "--put fifo: it is neither a file nor a directory"),
            ("data:", [], "expects LOCAL[:PATH]"),
            ("data:" + "x" * 300, [], "the path "),
            ("data:/proc/x", [], "--put data: "),
            ("data", ["-c", config], "scratch_size_mb = 1"),
        ):
            done = self.run_hearth(*options, "--put", put, script="print('it ran')")
            self.assertEqual((done.returncode, done.stdout), (2, ""), (put, done.stderr))
            self.assertIn(why, done.stderr)
        done = self.run_hearth("--json", "-c", config, "--put", "data", script="1")
        self.assertEqual(json.loads(done.stdout)["code"], "no_space")
        done = self.run_hearth("--json=result", "--put", "none", script="1")
        self.assertEqual(json.loads(done.stdout)["code"], "invalid_request")

    def test_get_says_where_things_appear(self):
        os.mkdir(self.path("there"))
        script = "import os\nos.makedirs('out/deep')\nopen('out/deep/a', 'w').write('a')"
        for get, made in (
            ("out", "out/deep/a"),
            ("out/deep/a", "a"),
            ("out/deep/a:b", "b"),
            ("out/deep/a:there", "there/a"),
            ("out/:there/", "there/out/deep/a"),
            ("out:new", "new/deep/a"),
            (".:all", "all/out/deep/a"),
            ("/workspace/out/deep:d", "d/a"),
        ):
            done = self.run_hearth("-q", "--get", get, script=script)
            self.assertEqual((done.returncode, done.stderr), (0, ""), get)
            self.assertEqual(self.content(made), "a", get)

    def test_nothing_is_overwritten_without_force(self):
        self.file("r.csv", "mine")
        os.mkdir(self.path("out"))
        self.file("out/r.csv", "mine")
        os.symlink("r.csv", self.path("link"))
        script = "print('it ran'); open('r.csv', 'w').write('new')"
        for options in (
            ["--get", "r.csv"],
            ["--get", "r.csv:out"],
            ["--get", "r.csv:link"],
            ["--get", ".:out"],
            ["--save", "out"],
        ):
            done = self.run_hearth(*options, script=script)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (options, done.stderr))
            self.assertRegex(done.stderr, "already|is a link")
        self.assertEqual(self.content("r.csv"), "mine")
        for options in (["--get", "r.csv"], ["--get", "r.csv:out"], ["--save", "out"]):
            self.file("out/r.csv", "mine")
            done = self.run_hearth("--force", *options, script=script)
            self.assertEqual(done.returncode, 0, done.stderr)
            changed = "r.csv" if options[-1] == "r.csv" else "out/r.csv"
            self.assertEqual(self.content(changed), "new")

    def test_a_link_that_came_with_a_repository_leads_no_file_out_of_it(self):
        os.makedirs(self.path("home/autostart"))
        os.makedirs(self.path("repository"))
        os.symlink("../home/autostart", self.path("repository/results"))
        os.symlink("../home/nothing", self.path("repository/new"))
        script = "print('it ran'); done = open('results', 'w').write('x')"
        for options in (
            ["--get", "results:repository/results"],
            ["--get", ".:repository/results"],
            ["--get", "results:repository/new"],
            ["--save", "repository/results"],
            ["--save", "repository/new"],
            ["--force", "--get", "results:repository/results"],
            ["--force", "--save", "repository/results"],
        ):
            done = self.run_hearth(*options, script=script)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (options, done.stderr))
            self.assertIn(" is a link; ", done.stderr)
            self.assertEqual(self.tree("home"), ["autostart"])
        # With a slash it is meant.
        done = self.run_hearth("--save", "repository/results/", script=script)
        self.assertEqual((done.returncode, done.stdout), (0, "it ran\n"), done.stderr)
        self.assertEqual(self.tree("home"), ["autostart", "autostart/results"])

    def test_a_name_that_is_taken_while_the_script_runs_is_not_overwritten(self):
        shared = self.path("shared")
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        script = (
            "for path in '/shared/r', 'r': open(path, 'w').write(path)\n"
            "import os; os.makedirs('d/x'); open('d/x/y', 'w')"
        )
        mount = "shared:/shared:rw"
        done = self.run_hearth("--mount", mount, "--get", "r:shared/r", script=script)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--get r: r: ", done.stderr)
        self.assertEqual(self.content("shared", "r"), "/shared/r")
        # A directory never takes the place of a file, nor a file that of a directory.
        os.remove(self.path("shared/r"))
        os.makedirs(self.path("kept/r/mine"))
        self.file("kept/d", "mine")
        done = self.run_hearth("--mount", mount, "--force", "--save", "kept", script=script)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "--save kept: .* more were not copied")
        self.assertEqual(self.tree("kept"), ["d", "r", "r/mine"])

    def test_save_takes_everything_and_names_it(self):
        script = (
            "import os\n"
            "os.makedirs('out/deep'); os.mkdir('empty')\n"
            "open('out/deep/a', 'w').write('a'); open('.hidden', 'w')\n"
            "os.chmod('out/deep/a', 0o1755); os.symlink('deep/a', 'out/link')\n"
            "os.symlink('/etc/passwd', 'absolute'); os.symlink('../../x', 'out/up')\n"
            "os.mkfifo('fifo'); open(os.fsencode('a') + b'\\xff\\x1b', 'w').write('bytes')\n"
        )
        done = self.run_hearth("--save", "kept", script=script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            self.tree("kept"),
            sorted(
                [".hidden", "a\udcff\x1b", "empty", "out", "out/deep", "out/deep/a", "out/link"]
            ),
        )
        mode = os.stat(self.path("kept/out/deep/a")).st_mode
        self.assertEqual(stat.S_IMODE(mode) & 0o7700, 0o700)
        self.assertEqual(os.stat(self.path("kept/out/deep/a")).st_uid, os.geteuid())
        self.assertRegex(done.stderr, r"\nsaved in kept: .*out/deep/a 1 byte\b")
        self.assertIn("a\\xff\\x1b 5 bytes", done.stderr)
        self.assertIn("left out are special files or mounts: fifo\n", done.stderr)
        self.assertRegex(done.stderr, "left out are links that could lead out .*: .*absolute")
        self.assertNotIn("not kept", done.stderr)
        # Quiet, and empty.
        done = self.run_hearth("-q", "--save", "nothing", script="1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.tree("nothing"), [])

    def test_caches_of_programs_are_left_out(self):
        script = (
            "import os\n"
            "os.makedirs('.cache/fonts'); open('.cache/fonts/a', 'w').write('x')\n"
            "os.makedirs('out/.cache'); open('out/.cache/a', 'w').write('x')\n"
            "open('.cached', 'w').write('x')\n"
        )
        done = self.run_hearth("--save", "kept", script=script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.tree("kept"), [".cached", "out", "out/.cache", "out/.cache/a"])
        result = json.loads(self.run_hearth("--json=result", script=script).stdout)
        self.assertEqual(sorted(result["files"]), [".cached", "out/.cache/a"])
        # Unless one asks for them.
        done = self.run_hearth("--get", ".cache", script=script)
        self.assertEqual(self.tree(".cache"), ["fonts", "fonts/a"], done.stderr)

    def test_figures_and_other_displays_are_saved_as_files(self):
        script = SHOW + (
            "open('figure-1.png', 'w').write('the script has taken the name')\n"
            "class Table:\n"
            "    def __repr__(self): return 'table'\n"
            "    def _repr_html_(self): return '<b>1</b>'\n"
            "    def _repr_json_(self): return {'a': 1}\n"
        )
        self.file("show.py", script + "Figure(%r)\n" % PIXEL)
        done = self.run_hearth("--save", "kept", "show.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.tree("kept"), ["figure-1.png", "figure-2.png"])
        with open(self.path("kept/figure-2.png"), "rb") as image:
            self.assertEqual(image.read(), base64.b64decode(PIXEL))
        self.assertIn("figure-2.png 70 bytes", done.stderr)
        steps = "".join(
            json.dumps({"code": code}) + "\n" for code in (script, "Table()", "1 + 1", "1/0")
        )
        done = self.run_hearth("-i", "--json", "--save", "steps", script=steps)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.tree("steps"), ["display-1.html", "display-2.json", "figure-1.png"])
        self.assertEqual(self.content("steps", "display-1.html"), "<b>1</b>")
        self.assertEqual(json.loads(self.content("steps", "display-2.json")), {"a": 1})
        for line in done.stdout.splitlines():
            json.loads(line)

    def test_files_come_out_after_a_failure_and_the_exit_code_is_the_scripts(self):
        for script, code in (
            ("open('r', 'w').write('1'); 1/0", 1),
            ("open('r', 'w').write('2'); raise SystemExit(3)", 1),
            ("open('r', 'w').write('3')\nwhile True: pass", 124),
        ):
            done = self.run_hearth("-q", "--force", "-t", "0.5", "--get", "r", script=script)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(self.content("r"), script.split("'")[5])
        gone = self.run_hearth("-q", "--get", "none", script="1/0")
        self.assertEqual(gone.returncode, 1)
        self.assertIn("hearth: --get none: ", gone.stderr)

    def test_a_file_that_cannot_be_copied_out_is_no_success(self):
        script = "import os; os.symlink('/etc/passwd', 'link'); os.mkfifo('fifo'); open('ok', 'w')"
        for get, why in (
            ("none", "No such file"),
            ("link", "link"),
            ("fifo", ""),
            ("/proc/self/status:s", ""),
        ):
            done = self.run_hearth("-q", "--force", "--get", get, "--get", "ok", script=script)
            self.assertEqual(done.returncode, 1, get)
            self.assertIn("hearth: --get " + get.split(":")[0] + ": ", done.stderr)
            self.assertIn(why, done.stderr)
            self.assertTrue(os.path.exists(self.path("ok")))  # the others come
            self.assertFalse(os.path.lexists(self.path(get)))
            for json_option in ("--json", "--json=result"):
                done = self.run_hearth(json_option, "--get", get, script=script)
                self.assertEqual(done.returncode, 1, get)
                for line in done.stdout.splitlines():
                    json.loads(line)
                last = json.loads(done.stdout.splitlines()[-1])
                self.assertEqual(last.get("result", last)["verdict"], "ok")
                self.assertIn("hearth: --get ", done.stderr)

    def test_a_sparse_file_does_not_fill_the_disk(self):
        script = "open('big', 'w').truncate(1 << 30); open('small', 'w').write('1')"
        done = self.run_hearth("--save", "kept", script=script)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--save kept: ", done.stderr)
        self.assertIn("more bytes", done.stderr)
        self.assertIn("scratch_size_mb", done.stderr)

    def test_what_is_lost_is_told_with_the_way_to_keep_it(self):
        script = "open('chart.png', 'w').write('x' * 2000); open('.cache', 'w')"
        done = self.run_hearth(script=script)
        self.assertIn(
            "\nnot kept: chart.png 2 kB (--save DIR keeps what is in /workspace)\n", done.stderr
        )
        for options in (["-q"], ["--json"], ["--json=result"], ["--get", "chart.png", "--force"]):
            done = self.run_hearth(*options, script=script)
            self.assertNotIn("not kept", done.stdout + done.stderr)
        self.file("data", "1")
        changed = self.run_hearth("--put", "data", script="open('data', 'a').write('2')")
        self.assertIn("not kept: data 2 bytes", changed.stderr)
        many = "for n in range(30): open('f%02d' % n, 'w').write('x')"
        done = self.run_hearth(script=many)
        self.assertIn("f09 1 byte and 20 more, 30 bytes in all (", done.stderr)
        self.assertNotIn("not kept", self.run_hearth(script="1").stderr)

    def test_steps_share_what_is_put_and_their_files_come_out_at_the_end(self):
        self.file("data", "1")
        steps = "open('a', 'w').write(open('data').read())\nopen('b', 'w').write('2')\n"
        done = self.run_hearth("-i", "--put", "data", "--get", "a", "--save", "kept", script=steps)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.content("a"), "1")
        self.assertEqual(self.tree("kept"), ["a", "b", "data"])
        told = self.run_hearth("-i", script=steps[-26:])
        self.assertIn("not kept: b 1 byte", told.stderr)
        requests = json.dumps({"code": "open('c', 'w').write('3')"})
        done = self.run_hearth("-i", "--json=result", "--get", "c", "--get", "d", script=requests)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["verdict"], "ok")
        self.assertEqual(self.content("c"), "3")

    def test_a_sandbox_that_is_gone_has_no_files_and_its_figures_are_kept(self):
        # All of its processes are killed for their memory, init is too.
        script = SHOW + "Figure(%r)" % PIXEL
        steps = [script, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
        requests = "".join(json.dumps({"code": code}) + "\n" for code in steps)
        done = self.run_hearth("-i", "--json=result", "--save", "kept", script=requests)
        self.assertEqual(self.tree("kept")[:1], ["figure-1.png"], done.stderr)

    def test_progress_is_for_terminals(self):
        self.file("data", "x" * 1_000_000)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        done = subprocess.run(
            [HEARTH, "run", "--put", "data", "--get", "data:copy", "-"],
            input=b"print('ok')",
            cwd=self.folder.name,
            stdout=subprocess.PIPE,
            stderr=theirs,
            timeout=PATIENCE_SECONDS,
        )
        os.close(theirs)
        self.assertEqual((done.returncode, done.stdout), (0, b"ok\n"))
        shown = os.read(ours, 65536).decode()
        self.assertIn("copied to copy: 1.0 MB\r\n", shown)

    def test_ctrl_c_while_files_come_out_leaves_no_half_of_one(self):
        config = self.file("c.toml", '[[blueprint]]\nname = "a"\nscratch_size_mb = 400\n')
        script = "print('there', flush=True); open('big', 'w').truncate(300 << 20)"
        process = subprocess.Popen(
            [HEARTH, "run", "--json=result", "-c", config, "--get", "big", "-"],
            cwd=self.folder.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        process.stdin.write(script)
        process.stdin.close()
        self.assertIn('"verdict":"ok"', process.stdout.readline())
        while not os.path.exists(self.path("big")) and process.poll() is None:
            pass
        process.send_signal(2)
        code = process.wait(PATIENCE_SECONDS)
        process.stderr.close()
        process.stdout.close()
        whole = os.path.exists(self.path("big"))
        self.assertEqual(code, 0 if whole else 130)
        if whole:
            self.assertEqual(os.path.getsize(self.path("big")), 300 << 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
